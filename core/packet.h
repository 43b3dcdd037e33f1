// Messages between processes of one version on one kind of machine (parameter servers, the chief
// and workers; a simulation and its child): numbers of 8 bytes in the machine's byte order, texts
// and memory after their length.
//
// A reader checks every length against the bytes received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace collbench {

class PacketWriter {
 public:
  PacketWriter& number(std::int64_t value);
  PacketWriter& real(double value);
  PacketWriter& text(std::string_view value);
  PacketWriter& reals(std::span<const double> values);
  PacketWriter& memory(std::span<const std::byte> bytes);
  /// As memory(), uninitialised and to be filled now; the span ends with the next addition.
  std::span<std::byte> room(std::int64_t bytes);

  const std::string& packet() const { return packet_; }
  std::string take() { return std::move(packet_); }

 private:
  std::string packet_;
};

/// Every member throws InvalidArgument if the packet ends before. Views end with the packet.
class PacketReader {
 public:
  explicit PacketReader(std::string_view packet) : rest_(packet) {}
  std::int64_t number();
  /// Throws InvalidArgument as well unless it is in least..most; `what` names it.
  std::int64_t number(const char* what, std::int64_t least, std::int64_t most);
  double real();
  std::string text();
  std::vector<double> reals();
  std::span<const std::byte> memory();
  /// Throws InvalidArgument if bytes are left.
  void end() const;

 private:
  std::string_view take(std::size_t bytes);
  std::string_view rest_;
};

}  // namespace collbench

#include "core/packet.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {

PacketWriter& PacketWriter::number(std::int64_t value) {
  packet_.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

PacketWriter& PacketWriter::real(double value) {
  return number(std::bit_cast<std::int64_t>(value));
}

PacketWriter& PacketWriter::text(std::string_view value) {
  number(std::ssize(value));
  packet_.append(value);
  return *this;
}

PacketWriter& PacketWriter::reals(std::span<const double> values) {
  return memory(std::as_bytes(values));
}

PacketWriter& PacketWriter::memory(std::span<const std::byte> bytes) {
  return text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::span<std::byte> PacketWriter::room(std::int64_t bytes) {
  number(bytes);
  const std::size_t before = packet_.size();
  packet_.resize(before + static_cast<std::size_t>(bytes));
  return std::as_writable_bytes(std::span(packet_)).subspan(before);
}

std::string_view PacketReader::take(std::size_t bytes) {
  require(bytes <= rest_.size(),
          fmt::format("a message ends after {} of {} bytes", rest_.size(), bytes));
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

std::int64_t PacketReader::number() {
  std::int64_t value = 0;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::int64_t PacketReader::number(const char* what, std::int64_t least, std::int64_t most) {
  const std::int64_t value = number();
  require(value >= least && value <= most,
          fmt::format("a message has {} {}, not one of {} to {}", what, value, least, most));
  return value;
}

double PacketReader::real() { return std::bit_cast<double>(number()); }

std::string PacketReader::text() {
  const std::span<const std::byte> bytes = memory();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<double> PacketReader::reals() {
  const std::span<const std::byte> bytes = memory();
  require(bytes.size() % sizeof(double) == 0,
          fmt::format("a message has {} bytes of numbers", bytes.size()));
  std::vector<double> values(bytes.size() / sizeof(double));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::span<const std::byte> PacketReader::memory() {
  const std::int64_t bytes = number();
  require(bytes >= 0, fmt::format("a message has a length of {}", bytes));
  return std::as_bytes(std::span(take(static_cast<std::size_t>(bytes))));
}

void PacketReader::end() const {
  require(rest_.empty(), fmt::format("a message has {} bytes too many", rest_.size()));
}

}  // namespace collbench

// Lines of text between a team and its worker processes, over a local socket that has no file.
//
// The socket's end is how either side learns of the other's death at once, whatever killed it.
#pragma once

#include <optional>
#include <string>

#include "core/units.h"

namespace collbench {

/// One connected stream. Move only. Thread safety: one thread may send while another receives.
class LineSocket {
 public:
  LineSocket() = default;
  explicit LineSocket(int descriptor) : descriptor_(descriptor) {}
  LineSocket(LineSocket&& other) noexcept;
  LineSocket& operator=(LineSocket&& other) noexcept;
  ~LineSocket();

  int descriptor() const { return descriptor_; }
  /// False if the other side is gone.
  bool send(const std::string& line);
  /// Waits for bytes and takes them in; false at the end of the stream.
  bool receive();
  /// Ends the stream for both sides; a receive() that waits returns false.
  void shut_down();
  /// The next whole line that was received.
  std::optional<std::string> take_line();
  /// Bytes that were received and not yet taken.
  std::size_t received() const { return received_.size(); }

 private:
  int descriptor_ = -1;
  std::string received_;
};

/// Listens under a name of Linux's abstract namespace, known to nobody else.
class LineListener {
 public:
  LineListener();
  ~LineListener();
  LineListener(const LineListener&) = delete;
  LineListener& operator=(const LineListener&) = delete;

  const std::string& name() const { return name_; }
  /// A connection from a process of this user, or nothing within `patience`.
  std::optional<LineSocket> accept(Seconds patience);

 private:
  int descriptor_ = -1;
  std::string name_;
};

/// Connects to a listener. Throws Unavailable if there is none.
LineSocket connect_lines(const std::string& name);

/// 128 random bits in hexadecimal, from the system.
std::string random_token();

}  // namespace collbench

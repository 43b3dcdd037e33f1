// Lines of text between a team and its worker processes, over a local socket that has no file.
//
// The socket's end is how either side learns of the other's death at once, whatever killed it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/descriptor.h"
#include "core/units.h"

namespace collbench {

/// One connected stream. Move only. Thread safety: one thread may send while another receives.
class LineSocket {
 public:
  LineSocket() = default;
  explicit LineSocket(int descriptor) : descriptor_(descriptor) {}

  int descriptor() const { return descriptor_.number(); }
  bool is_open() const { return descriptor() >= 0; }
  /// False if the other side is gone.
  bool send(const std::string& line);
  /// Whether receive() would not wait, or comes to that within `patience`.
  bool readable(std::chrono::milliseconds patience) const;
  /// Waits for bytes and takes them in; false at the end of the stream.
  bool receive();
  /// Ends the stream for both sides; a receive() that waits returns false.
  void shut_down();
  /// The next whole line that was received.
  std::optional<std::string> take_line();
  /// What was received and not yet taken.
  const std::string& received() const { return received_; }

 private:
  Descriptor descriptor_;
  std::string received_;
  std::size_t without_end_ = 0;  // bytes of it known to hold no line end
};

/// Listens under a random name in Linux's abstract namespace.
class LineListener {
 public:
  LineListener();

  const std::string& name() const { return name_; }
  /// A connection from a process of this user, or nothing within `patience`. Throws TransportError
  /// where this process has no descriptor or memory left for it.
  std::optional<LineSocket> accept(Seconds patience);

 private:
  LineSocket socket_;
  std::string name_;
};

/// Connects to a listener. Throws Unavailable if there is none.
LineSocket connect_lines(const std::string& name);

}  // namespace collbench

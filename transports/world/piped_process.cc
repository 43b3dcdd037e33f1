#include "transports/world/piped_process.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sys/socket.h>

#include "core/descriptor.h"
#include "core/error.h"

namespace collbench {
namespace {

/// Connects `ours`, which never waits to send, to what is returned. Not a pipe: writing to a child
/// that has ended must not raise SIGPIPE.
Descriptor connected_to(LineSocket& ours) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Unavailable(std::string("cannot start a process: ") + std::strerror(errno));
  }
  ours = LineSocket(ends[0]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Descriptor(ends[1]);
}

void read_lines(LineSocket& socket, const LineReader& reader) {
  while (socket.readable(std::chrono::milliseconds(0))) {
    const bool open = socket.receive();
    while (const std::optional<std::string> line = socket.take_line()) reader(*line);
    if (open) continue;
    if (!socket.received().empty()) reader(socket.received());
    socket = LineSocket();
  }
}

}  // namespace

PipedProcess::PipedProcess(const std::vector<std::string>& command) {
  const Descriptor in = connected_to(in_);
  const Descriptor out = connected_to(out_);
  const Descriptor err = connected_to(err_);
  process_ = ChildProcess(command, {}, {in.number(), out.number(), err.number()});
}

void PipedProcess::read(const LineReader& out, const LineReader& err) {
  read_lines(out_, out);
  read_lines(err_, err);
}

}  // namespace collbench

#include "transports/world/line_socket.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/error.h"
#include "core/keyed_digest.h"

namespace collbench {
namespace {

struct Address {
  sockaddr_un socket{};
  socklen_t length = 0;
};

// Abstract names start with a zero byte and exist in no folder.
Address abstract_address(const std::string& name) {
  Address address;
  address.socket.sun_family = AF_UNIX;
  require(name.size() < sizeof address.socket.sun_path - 1, "socket name too long: " + name);
  name.copy(address.socket.sun_path + 1, name.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

bool is_of_this_user(int descriptor) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == geteuid();
}

int make_socket() {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw Unavailable(std::string("no local socket: ") + std::strerror(errno));
  return descriptor;
}

}  // namespace

bool LineSocket::send(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(descriptor(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

bool LineSocket::readable(std::chrono::milliseconds patience) const {
  pollfd waiting{.fd = descriptor(), .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, static_cast<int>(patience.count())) > 0;
}

bool LineSocket::receive() {
  char bytes[65536];
  ssize_t n = 0;
  do {
    n = recv(descriptor(), bytes, sizeof bytes, 0);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  received_.append(bytes, static_cast<std::size_t>(n));
  return true;
}

void LineSocket::shut_down() { shutdown(descriptor(), SHUT_RDWR); }

std::optional<std::string> LineSocket::take_line() {
  const std::size_t end = received_.find('\n', without_end_);
  without_end_ = end == std::string::npos ? received_.size() : 0;
  if (end == std::string::npos) return std::nullopt;
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

LineListener::LineListener() : socket_(make_socket()), name_("collbench-" + random_digits()) {
  const Address address = abstract_address(name_);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address.socket);
  if (bind(socket_.descriptor(), generic, address.length) != 0 ||
      listen(socket_.descriptor(), SOMAXCONN) != 0) {
    throw Unavailable(std::string("cannot listen for workers: ") + std::strerror(errno));
  }
}

std::optional<LineSocket> LineListener::accept(Seconds patience) {
  const std::chrono::milliseconds longest(static_cast<int>(patience.count() * 1000));
  if (!socket_.readable(longest)) return std::nullopt;
  LineSocket socket(accept4(socket_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
  const bool lacks_descriptors = !socket.is_open() && (errno == EMFILE || errno == ENFILE);
  if (lacks_descriptors || (!socket.is_open() && errno == ENOMEM)) {
    throw TransportError(fmt::format("cannot accept workers: {}{}", std::strerror(errno),
                                     lacks_descriptors ? " (raise ulimit -n)" : ""));
  }
  if (!socket.is_open() || !is_of_this_user(socket.descriptor())) return std::nullopt;
  return socket;
}

LineSocket connect_lines(const std::string& name) {
  LineSocket socket(make_socket());
  const Address address = abstract_address(name);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address.socket);
  if (connect(socket.descriptor(), generic, address.length) != 0) {
    throw Unavailable("cannot reach the team '" + name + "': " + std::strerror(errno));
  }
  return socket;
}

}  // namespace collbench

#include "transports/world/line_socket.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/error.h"

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

LineSocket::LineSocket(LineSocket&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), received_(std::move(other.received_)) {}

LineSocket& LineSocket::operator=(LineSocket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(received_, other.received_);
  return *this;
}

LineSocket::~LineSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool LineSocket::send(const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(descriptor_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

bool LineSocket::receive() {
  char bytes[65536];
  ssize_t n = 0;
  do {
    n = recv(descriptor_, bytes, sizeof bytes, 0);
  } while (n < 0 && errno == EINTR);
  if (n <= 0) return false;
  received_.append(bytes, static_cast<std::size_t>(n));
  return true;
}

void LineSocket::shut_down() { shutdown(descriptor_, SHUT_RDWR); }

std::optional<std::string> LineSocket::take_line() {
  const std::size_t end = received_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

LineListener::LineListener() : descriptor_(make_socket()), name_("collbench-" + random_token()) {
  const Address address = abstract_address(name_);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address.socket);
  if (bind(descriptor_, generic, address.length) == 0 && listen(descriptor_, SOMAXCONN) == 0)
    return;
  const std::string reason = std::strerror(errno);
  close(descriptor_);
  throw Unavailable("cannot listen for workers: " + reason);
}

LineListener::~LineListener() { close(descriptor_); }

std::optional<LineSocket> LineListener::accept(Seconds patience) {
  pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, static_cast<int>(patience.count() * 1000)) <= 0) return std::nullopt;
  LineSocket socket(accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.descriptor() < 0 || !is_of_this_user(socket.descriptor())) return std::nullopt;
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

std::string random_token() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
    throw Unavailable(std::string("no random numbers: ") + std::strerror(errno));
  }
  constexpr const char* digits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += digits[byte >> 4];
    token += digits[byte & 15];
  }
  return token;
}

}  // namespace collbench

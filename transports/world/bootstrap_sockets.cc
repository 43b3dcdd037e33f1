#include "transports/world/bootstrap_sockets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"
#include "core/host_port.h"
#include "core/keyed_digest.h"
#include "transports/world/bootstrap_messages.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds time_to_speak{15};
constexpr double longest_pause_ms = 1000;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Null and `failure` said, if the host is not known.
Addresses resolve(const HostPort& address, int flags, std::string& failure) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const char* host = address.host.empty() ? nullptr : address.host.c_str();
  const int error = getaddrinfo(host, std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) failure = fmt::format("cannot find '{}': {}", address.host, gai_strerror(error));
  return {error == 0 ? found : nullptr, freeaddrinfo};
}

HostPort split(const std::string& address) {
  if (address.starts_with(":")) return {"", parse_host_port("the meeting", "x" + address, 0).port};
  return parse_host_port("the meeting", address, 0);
}

std::string host_of(const sockaddr_storage& from, socklen_t length) {
  char host[NI_MAXHOST] = {};
  getnameinfo(reinterpret_cast<const sockaddr*>(&from), length, host, sizeof host, nullptr, 0,
              NI_NUMERICHOST);
  const std::string text = host;
  return text.starts_with("::ffff:") ? text.substr(7) : text;  // IPv4 at a socket for both kinds
}

bool listens(const addrinfo& where, bool everywhere, LineSocket& out) {
  LineSocket socket(::socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  const int off = 0;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (where.ai_family == AF_INET6 && everywhere) {
    setsockopt(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (bind(socket.descriptor(), where.ai_addr, where.ai_addrlen) != 0) return false;
  if (listen(socket.descriptor(), SOMAXCONN) != 0) return false;
  out = std::move(socket);
  return true;
}

}  // namespace

LineSocket listen_at(const std::string& address, const std::string& who) {
  const HostPort there = split(address);
  std::string failure;
  const Addresses where = resolve(there, AI_PASSIVE, failure);
  LineSocket listener;
  // IPv6 first: unbound, it takes callers of both kinds.
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* one = where.get(); one != nullptr; one = one->ai_next) {
      if (one->ai_family == family && listens(*one, there.host.empty(), listener)) return listener;
      if (one->ai_family == family) failure = std::strerror(errno);
    }
  }
  throw TransportError(
      fmt::format("{} cannot listen at the meeting {}: {}", who, address, failure));
}

int port_of(const LineSocket& listener) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&own), &length);
  return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(own).sin6_port
                                         : reinterpret_cast<const sockaddr_in&>(own).sin_port);
}

std::chrono::milliseconds BackOff::next() {
  state_ = state_ * 1'664'525U + 1'013'904'223U;
  const double scatter = 0.75 + 0.5 * (state_ >> 16) / 65'536.0;
  const std::chrono::milliseconds pause(static_cast<int>(pause_ms_ * scatter));
  pause_ms_ = std::min(pause_ms_ * 1.5, longest_pause_ms);
  return pause;
}

LineSocket connect_again(const std::string& address, BackOff pauses,
                         const std::function<void(const std::string& why)>& check) {
  const HostPort there = split(address);
  for (;;) {
    std::string failure;
    const Addresses where = resolve(there, 0, failure);
    for (const addrinfo* one = where.get(); one != nullptr; one = one->ai_next) {
      LineSocket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      // Bounds connect() too, which a host that swallows packets would hold for minutes.
      const timeval patience{2, 0};
      setsockopt(socket.descriptor(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      if (connect(socket.descriptor(), one->ai_addr, one->ai_addrlen) == 0) return socket;
      failure = std::strerror(errno);
    }
    check(failure);
    std::this_thread::sleep_for(pauses.next());
  }
}

void allow_descriptors(std::size_t count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

Reception::Reception(LineSocket listener, std::size_t most)
    : listener_(std::move(listener)), most_(most) {}

void Reception::accept_all() {
  for (;;) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    LineSocket socket(
        accept4(listener_.descriptor(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC));
    if (!socket.is_open()) return;
    Caller caller{std::move(socket), random_digits(), host_of(from, length),
                  Clock::now() + time_to_speak};
    caller.socket.send(greeting_line(caller.number));
    callers_.push_back(std::move(caller));
    if (callers_.size() > most_) callers_.pop_front();
  }
}

void Reception::serve(std::chrono::milliseconds patience,
                      const std::function<void(Caller&&, const std::string&)>& said) {
  std::vector<pollfd> descriptors = {{listener_.descriptor(), POLLIN, 0}};
  for (const Caller& caller : callers_) {
    descriptors.push_back({caller.socket.descriptor(), POLLIN, 0});
  }
  if (poll(descriptors.data(), descriptors.size(), static_cast<int>(patience.count())) <= 0) {
    const auto now = Clock::now();
    callers_.remove_if([now](const Caller& caller) { return now >= caller.until; });
    return;
  }
  auto caller = callers_.begin();
  for (std::size_t i = 1; i < descriptors.size(); ++i) {
    const auto here = caller++;
    if (descriptors[i].revents == 0) continue;
    const bool more = here->socket.receive();
    const std::optional<std::string> line = here->socket.take_line();
    if (line && line->size() <= longest_hello) said(std::move(*here), *line);
    if (!more || line || here->socket.received().size() > longest_hello) callers_.erase(here);
  }
  if (descriptors[0].revents != 0) accept_all();
}

}  // namespace collbench

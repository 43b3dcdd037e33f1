#include "transports/grpc/connection_guard.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"
#include "core/host_port.h"
#include "transports/descriptor.h"

namespace collbench {

namespace {

constexpr int tick_ms = 100;
constexpr int established = 1;  // the kernel's numbers of a connection's states
constexpr int syn_received = 3;
constexpr std::uint64_t most_bytes = 256 << 10;  // before the proof, TLS's handshake included

struct Unproved {
  std::string name;
  Descriptor watched;  // a second descriptor of the connection; gRPC owns the first
  int age_ms = 0;
};

std::string name_of(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return to_string(HostPort{text, ntohs(v4.sin_port)});
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
  inet_ntop(mapped ? AF_INET : AF_INET6, v6.sin6_addr.s6_addr + (mapped ? 12 : 0), text,
            sizeof text);
  return to_string(HostPort{text, ntohs(v6.sin6_port)});
}

int port_of(int listener) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                   : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

// Listens on one address; on failure errno holds the reason.
Descriptor listen_on(const addrinfo& where, int port) {
  Descriptor listener(socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.number() < 0) return listener;
  const int on = 1;
  const int off = 0;
  setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address{};
  std::memcpy(&address, where.ai_addr, where.ai_addrlen);
  if (where.ai_family == AF_INET6) {
    setsockopt(listener.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(static_cast<std::uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(static_cast<std::uint16_t>(port));
  }
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (bind(listener.number(), generic, where.ai_addrlen) == 0 &&
      listen(listener.number(), SOMAXCONN) == 0) {
    return listener;
  }
  return Descriptor(-1);
}

// The hosts file may list an address twice.
bool is_listed_before(const addrinfo* all, const addrinfo* one) {
  for (const addrinfo* each = all; each != one; each = each->ai_next) {
    if (each->ai_addrlen == one->ai_addrlen &&
        std::memcmp(each->ai_addr, one->ai_addr, one->ai_addrlen) == 0) {
      return true;
    }
  }
  return false;
}

std::vector<Descriptor> listeners_on(const std::string& address) {
  const HostPort where = parse_host_port("grpc: the address to listen on", address, 0);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const auto fail = [&](const std::string& why) {
    throw TransportError("grpc: cannot listen on " + address + ": " + why);
  };
  const int failure = getaddrinfo(where.host.c_str(), nullptr, &hints, &found);
  if (failure != 0) fail(gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  std::vector<Descriptor> listeners;
  int port = where.port;
  std::string reason;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (is_listed_before(found, each)) continue;
    Descriptor listener = listen_on(*each, port);
    if (listener.number() < 0) {
      reason = std::strerror(errno);
      if (errno == EADDRINUSE && where.port != 0) fail(reason);
      continue;
    }
    if (port == 0) port = port_of(listener.number());
    listeners.push_back(std::move(listener));
  }
  if (listeners.empty()) fail(reason);
  return listeners;
}

// Whether the connection has ended, or has sent more than a handshake needs.
bool is_over(int connection) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return true;
  const bool counted = length >= offsetof(tcp_info, tcpi_bytes_received) + sizeof(std::uint64_t);
  return (info.tcpi_state != established && info.tcpi_state != syn_received) ||
         (counted && info.tcpi_bytes_received > most_bytes);
}

}  // namespace

struct ConnectionGuard::Room {
  Room(const std::string& address, int most, Seconds longest)
      : listeners(listeners_on(address)),
        wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        most_unproved(static_cast<std::size_t>(most)),
        patience_ms(static_cast<int>(longest.count() * 1000)) {
    if (wake.number() < 0) throw TransportError(std::string("eventfd: ") + std::strerror(errno));
  }

  // Requires the lock. gRPC sees the end of its connection.
  void shut_oldest() {
    if (unproved.empty()) return;
    shutdown(unproved.front().watched.number(), SHUT_RDWR);
    unproved.pop_front();
  }

  void accept_from(int listener) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    Descriptor connection(accept4(listener, reinterpret_cast<sockaddr*>(&from), &length,
                                  SOCK_CLOEXEC | SOCK_NONBLOCK));
    const std::scoped_lock lock(mutex);
    if (connection.number() < 0) {
      const bool out_of_room = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
      if (out_of_room) shut_oldest();
      starved = out_of_room;
      return;
    }
    if (unproved.size() >= most_unproved) shut_oldest();
    Descriptor watched(fcntl(connection.number(), F_DUPFD_CLOEXEC, 0));
    starved = watched.number() < 0;
    if (starved) return shut_oldest();
    const int on = 1;
    setsockopt(connection.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    unproved.push_back({name_of(from), std::move(watched)});
    admit(listener, connection.release());
  }

  void tick(bool polled) {
    const std::scoped_lock lock(mutex);
    std::erase_if(unproved, [&](Unproved& each) {
      if (polled) each.age_ms += tick_ms;
      if (each.age_ms < patience_ms && !is_over(each.watched.number())) return false;
      shutdown(each.watched.number(), SHUT_RDWR);
      return true;
    });
  }

  bool watches() {
    const std::scoped_lock lock(mutex);
    return !unproved.empty();
  }

  void run(const std::atomic<std::uint64_t>& polls, const std::atomic<bool>& always_polled) {
    std::vector<pollfd> waiting{{wake.number(), POLLIN, 0}};
    for (const Descriptor& listener : listeners) waiting.push_back({listener.number(), POLLIN, 0});
    std::uint64_t seen = polls.load(relaxed);
    auto ticked = std::chrono::steady_clock::now();
    while (!stopped.load()) {
      // Without free descriptors, the pending connection would wake this thread in a busy loop.
      const auto watched = starved ? 1 : waiting.size();
      poll(waiting.data(), watched, starved || watches() ? tick_ms : -1);
      if (stopped.load()) return;
      for (std::size_t i = 1; i < waiting.size(); ++i) {
        if (starved || (waiting[i].revents & POLLIN) != 0) accept_from(waiting[i].fd);
      }
      const auto now = std::chrono::steady_clock::now();
      if (now - ticked < std::chrono::milliseconds(tick_ms)) continue;
      ticked = now;
      const std::uint64_t before = std::exchange(seen, polls.load(relaxed));
      tick(always_polled || seen != before);
    }
  }

  std::vector<Descriptor> listeners;
  Descriptor wake;
  const std::size_t most_unproved;
  const int patience_ms;
  std::mutex mutex;
  std::list<Unproved> unproved;  // oldest first
  bool starved = false;
  std::function<void(int, int)> admit;
  std::atomic<bool> stopped{false};
  std::thread thread;
};

ConnectionGuard::ConnectionGuard(const std::string& address, int most_unproved, Seconds patience)
    : room_(std::make_unique<Room>(address, most_unproved, patience)) {}

ConnectionGuard::~ConnectionGuard() { close(); }

int ConnectionGuard::port() const { return port_of(room_->listeners.front().number()); }

void ConnectionGuard::open(std::function<void(int listener, int connection)> admit) {
  room_->admit = std::move(admit);
  room_->thread = std::thread([this] { room_->run(polls_, always_polled_); });
}

void ConnectionGuard::close() {
  if (room_->stopped.exchange(true)) return;
  eventfd_write(room_->wake.number(), 1);
  if (room_->thread.joinable()) room_->thread.join();
  room_->listeners.clear();
  const std::scoped_lock lock(room_->mutex);  // a call may still prove its connection
  for (const Unproved& each : room_->unproved) shutdown(each.watched.number(), SHUT_RDWR);
  room_->unproved.clear();
}

void ConnectionGuard::prove(const std::string& connection) {
  const std::string name = connection_name(connection);
  const std::scoped_lock lock(room_->mutex);
  std::erase_if(room_->unproved, [&](const Unproved& each) { return each.name == name; });
}

int ConnectionGuard::unproved() const {
  const std::scoped_lock lock(room_->mutex);
  return static_cast<int>(room_->unproved.size());
}

std::string connection_name(const std::string& grpc_name) {
  std::string name;
  for (std::size_t i = grpc_name.find(':') + 1; i < grpc_name.size(); ++i) {
    const std::string code = grpc_name.substr(i, 3);
    if (code == "%5B" || code == "%5D") {
      name += code == "%5B" ? '[' : ']';
      i += 2;
    } else if (grpc_name[i] == '%') {  // a zone, up to the bracket
      while (i + 1 < grpc_name.size() && grpc_name[i + 1] != ']' &&
             grpc_name.substr(i + 1, 3) != "%5D") {
        ++i;
      }
    } else {
      name += grpc_name[i];
    }
  }
  return name;
}

}  // namespace collbench

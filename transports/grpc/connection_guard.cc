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

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"
#include "core/host_port.h"
#include "transports/listening.h"

namespace collbench {

namespace {

constexpr int look_ms = 1;      // between looks at what unproved callers have sent
constexpr int tick_ms = 100;    // by which they age
constexpr int established = 1;  // the kernel's numbers of a connection's states
constexpr int syn_received = 3;

struct Unproved {
  std::string name;
  Descriptor watched;  // a second descriptor of the connection; gRPC owns the first
  int age_ms = 0;
};

std::vector<Descriptor> listeners_on(const std::string& address) {
  std::string failure;
  std::vector<Descriptor> listeners =
      listen_at(parse_host_port("grpc: the address to listen on", address, 0), failure);
  if (listeners.empty()) {
    throw TransportError("grpc: cannot listen on " + address + ": " + failure);
  }
  return listeners;
}

// Whether the connection has ended, or has sent more than a handshake needs.
bool is_over(int connection, std::uint64_t most_bytes) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(connection, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return true;
  const bool counted = length >= offsetof(tcp_info, tcpi_bytes_received) + sizeof(std::uint64_t);
  return (info.tcpi_state != established && info.tcpi_state != syn_received) ||
         (counted && info.tcpi_bytes_received > most_bytes);
}

}  // namespace

struct ConnectionGuard::Room {
  Room(const std::string& address, GuardLimits limits)
      : listeners(listeners_on(address)),
        wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        most_unproved(static_cast<std::size_t>(limits.unproved)),
        most_bytes(static_cast<std::uint64_t>(limits.bytes.count)),
        patience_ms(static_cast<int>(limits.patience.count() * 1000)) {
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
    auto* const caller = reinterpret_cast<sockaddr*>(&from);
    Descriptor connection(accept4(listener, caller, &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
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
    unproved.push_back(
        {connection_name("tcp:" + to_string(address_in_text(caller, length))), std::move(watched)});
    admit(listener, connection.release());
  }

  void look(int older_ms) {
    const std::scoped_lock lock(mutex);
    std::erase_if(unproved, [&](Unproved& each) {
      each.age_ms += older_ms;
      if (each.age_ms < patience_ms && !is_over(each.watched.number(), most_bytes)) return false;
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
      poll(waiting.data(), watched, starved || watches() ? look_ms : -1);
      if (stopped.load()) return;
      for (std::size_t i = 1; i < waiting.size(); ++i) {
        if (starved || (waiting[i].revents & POLLIN) != 0) accept_from(waiting[i].fd);
      }
      int older_ms = 0;
      const auto now = std::chrono::steady_clock::now();
      if (now - ticked >= std::chrono::milliseconds(tick_ms)) {
        ticked = now;
        const std::uint64_t before = std::exchange(seen, polls.load(relaxed));
        if (always_polled || seen != before) older_ms = tick_ms;
      }
      look(older_ms);
    }
  }

  std::vector<Descriptor> listeners;
  Descriptor wake;
  const std::size_t most_unproved;
  const std::uint64_t most_bytes;
  const int patience_ms;
  std::mutex mutex;
  std::list<Unproved> unproved;  // oldest first
  bool starved = false;
  std::function<void(int, int)> admit;
  std::atomic<bool> stopped{false};
  std::thread thread;
};

ConnectionGuard::ConnectionGuard(const std::string& address, GuardLimits limits)
    : room_(std::make_unique<Room>(address, limits)) {}

ConnectionGuard::~ConnectionGuard() { close(); }

int ConnectionGuard::port() const { return port_of(room_->listeners.front()); }

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

#include "transports/grpc/connection_guard.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
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
#include "core/keyed_digest.h"
#include "transports/grpc/preamble.h"
#include "transports/listening.h"

namespace collbench {

namespace {

constexpr int look_ms = 1;    // between looks at what unproved callers have sent
constexpr int tick_ms = 100;  // by which they age
constexpr int at_once = 16;   // connections taken between two looks, so that a flood has its limit
constexpr int established = 1;  // the kernel's numbers of a connection's states
constexpr int syn_received = 3;

struct Unproved {
  std::string name;
  Descriptor socket;   // until the connection is admitted
  Descriptor watched;  // from then on a second descriptor of it; gRPC owns the first
  int listener = -1;
  std::string heard = {};
  std::string expected = {};  // the caller's proof, once it has been answered
  Rank from = -1;             // whose elements it will carry
  int age_ms = 0;

  bool is_admitted() const { return socket.number() < 0; }
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

// Few bytes to a fresh connection: they fit.
void say(const Descriptor& socket, std::string_view words) {
  send(socket.number(), words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

struct ConnectionGuard::Room {
  Room(const std::string& address, GrpcSelf own, GuardLimits limits)
      : self(std::move(own)),
        listeners(listeners_on(address)),
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

  // Requires the lock. False if nobody waits.
  bool accept_from(int listener) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    auto* const caller = reinterpret_cast<sockaddr*>(&from);
    Descriptor connection(accept4(listener, caller, &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.number() < 0) {
      starved = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
      if (starved) shut_oldest();
      return false;
    }
    starved = false;
    if (unproved.size() >= most_unproved) shut_oldest();
    const int on = 1;
    setsockopt(connection.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    unproved.push_back({connection_name("tcp:" + to_string(address_in_text(caller, length))),
                        std::move(connection), Descriptor(), listener});
    return true;
  }

  // Requires the lock. Reads what is still to come of the preamble or of the proof behind it, and
  // nothing beyond; false once the caller has no more to say here.
  bool hear(Unproved& each) {
    char bytes[longest_preamble];
    const std::size_t most = (each.expected.empty() ? longest_preamble : proof_digits);
    const ssize_t n = recv(each.socket.number(), bytes, most - each.heard.size(), MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0) return false;
    each.heard.append(bytes, static_cast<std::size_t>(n));
    if (!each.expected.empty()) return each.heard.size() < proof_digits || take_proof(each);
    if (each.heard.find(preamble_names::end) != std::string::npos) return take_preamble(each);
    const std::string_view start = preamble_names::start;
    return start.starts_with(std::string_view(each.heard).substr(0, start.size())) &&
           each.heard.size() < longest_preamble;
  }

  // Requires the lock. False if the caller is refused.
  bool take_preamble(Unproved& each) {
    const std::optional<Preamble> preamble = read_preamble(each.heard);
    each.heard.clear();
    if (!preamble) return false;
    if (!is_proved(*preamble, self.token)) {
      say(each.socket, preamble_names::refused);
      if (preamble->identity.rank < self.ranks) refused.insert(preamble->identity.rank);
      return false;
    }
    if (preamble->use == ConnectionUse::elements) return answer_elements(each, preamble->identity);
    each.watched = Descriptor(fcntl(each.socket.number(), F_DUPFD_CLOEXEC, 0));
    if (each.watched.number() < 0) return false;
    say(each.socket, std::string(preamble_names::granted) + "\r\n");
    each.age_ms = 0;
    admit(each.listener, each.socket.release());
    return true;
  }

  // Requires the lock.
  bool answer_elements(Unproved& each, const GrpcIdentity& identity) {
    if (!takes_elements || identity.ranks != self.ranks || identity.rank >= self.ranks)
      return false;
    const std::string number = random_digits();
    const ElementProofs proofs = element_proofs(self.token, identity, self.rank, number);
    each.expected = proofs.caller;
    each.from = identity.rank;
    say(each.socket, elements_answer(number, proofs.listener));
    return true;
  }

  // Requires the lock. The connection leaves the guard either way.
  bool take_proof(Unproved& each) {
    if (same_secret(each.heard, each.expected)) {
      say(each.socket, preamble_names::accepted);
      elements.push_back({each.from, std::move(each.socket)});
    }
    return false;
  }

  // Drops those that are over; true if there were any. An admitted one needs its owner's polling
  // to prove itself, so its time runs only with that.
  bool look(int older_ms, bool owner_polled) {
    const std::scoped_lock lock(mutex);
    return std::erase_if(unproved, [&](Unproved& each) {
             if (owner_polled || !each.is_admitted()) each.age_ms += older_ms;
             const bool stays =
                 each.age_ms < patience_ms &&
                 (each.is_admitted() ? !is_over(each.watched.number(), most_bytes) : hear(each));
             if (!stays && each.is_admitted()) shutdown(each.watched.number(), SHUT_RDWR);
             return !stays;
           }) > 0;
  }

  // What wakes the guard. Without free descriptors the pending connection would do so all the
  // time, and a flood would if those who are refused made room at once.
  std::vector<pollfd> events(bool pausing) {
    const std::scoped_lock lock(mutex);
    std::vector<pollfd> waiting{{wake.number(), POLLIN, 0}};
    if (pausing || starved) return waiting;
    for (const Descriptor& listener : listeners) waiting.push_back({listener.number(), POLLIN, 0});
    for (const Unproved& each : unproved) {
      if (!each.is_admitted()) waiting.push_back({each.socket.number(), POLLIN, 0});
    }
    return waiting;
  }

  void run(const std::atomic<std::uint64_t>& polls, const std::atomic<bool>& always_polled) {
    std::uint64_t seen = polls.load(relaxed);
    auto ticked = std::chrono::steady_clock::now();
    bool pausing = false;
    while (!stopped.load()) {
      std::vector<pollfd> waiting = events(pausing);
      poll(waiting.data(), waiting.size(), pausing || starved || watches() ? look_ms : -1);
      if (stopped.load()) return;
      accept_some();
      int older_ms = 0;
      bool owner_polled = false;
      const auto now = std::chrono::steady_clock::now();
      if (now - ticked >= std::chrono::milliseconds(tick_ms)) {
        ticked = now;
        const std::uint64_t before = std::exchange(seen, polls.load(relaxed));
        owner_polled = always_polled || seen != before;
        older_ms = tick_ms;
      }
      pausing = look(older_ms, owner_polled);
    }
  }

  void accept_some() {
    const std::scoped_lock lock(mutex);
    for (const Descriptor& listener : listeners) {
      for (int i = 0; i < at_once && accept_from(listener.number()); ++i) continue;
    }
  }

  bool watches() {
    const std::scoped_lock lock(mutex);
    return !unproved.empty();
  }

  const GrpcSelf self;
  std::vector<Descriptor> listeners;
  Descriptor wake;
  const std::size_t most_unproved;
  const std::uint64_t most_bytes;
  const int patience_ms;
  std::mutex mutex;
  std::list<Unproved> unproved;  // oldest first
  std::vector<ElementsConnection> elements;
  std::set<Rank> refused;
  std::atomic<bool> takes_elements{false};
  bool starved = false;
  std::function<void(int, int)> admit;
  std::atomic<bool> stopped{false};
  std::thread thread;
};

ConnectionGuard::ConnectionGuard(const std::string& address, GrpcSelf self, GuardLimits limits)
    : room_(std::make_unique<Room>(address, std::move(self), limits)) {}

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

std::vector<ElementsConnection> ConnectionGuard::take_elements() {
  room_->takes_elements = true;
  const std::scoped_lock lock(room_->mutex);
  return std::exchange(room_->elements, {});
}

bool ConnectionGuard::has_refused(Rank rank) const {
  const std::scoped_lock lock(room_->mutex);
  return room_->refused.contains(rank);
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

#include "transports/grpc/tcp_link.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "core/error.h"
#include "core/keyed_digest.h"
#include "transports/grpc/preamble.h"

namespace collbench {

namespace {

// More at once keeps this rank from reading what its peers send meanwhile, and leaves the cache.
constexpr std::size_t bytes_at_once = 256 << 10;
constexpr Seconds between_calls{0.05};
constexpr Seconds longest_patience{1.0};
constexpr timeval patience_once_proved{10, 0};

Seconds clock_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

template <typename Value>
void set(const Descriptor& socket, int level, int option, const Value& value) {
  setsockopt(socket.number(), level, option, &value, sizeof value);
}

// Each step of the call has so much time.
Descriptor connected_to(const addrinfo& place, Seconds patience) {
  const auto microseconds = static_cast<std::int64_t>(patience.count() * 1e6);
  const timeval time{microseconds / 1'000'000, microseconds % 1'000'000};
  Descriptor socket(::socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_SNDTIMEO, time);
  set(socket, SOL_SOCKET, SO_RCVTIMEO, time);
  const bool is_there = connect(socket.number(), place.ai_addr, place.ai_addrlen) == 0;
  return is_there ? std::move(socket) : Descriptor();
}

bool say(const Descriptor& socket, const std::string& words) {
  return ::send(socket.number(), words.data(), words.size(), MSG_NOSIGNAL) == std::ssize(words);
}

// What the listener says up to `end`; nothing if it ends or is silent before. Its guard drops some
// of too many callers.
std::string hear(const Descriptor& socket, const std::string& end) {
  std::string heard;
  for (char letter = 0; !heard.ends_with(end) && heard.size() <= longest_preamble;) {
    if (recv(socket.number(), &letter, 1, 0) != 1) return "";
    heard += letter;
  }
  return heard;
}

// Greets, and proves who calls. False if the listener does not want to hear it now.
bool is_accepted(const Descriptor& socket, const GrpcSelf& self, Rank to,
                 const std::string& address) {
  const GrpcIdentity who{self.rank, self.ranks, random_digits()};
  const std::string preamble = std::string(preamble_names::start) + preamble_names::target +
                               " HTTP/1.0\r\n" + preamble_names::header + ": " +
                               preamble_value(ConnectionUse::elements, who, self.token) +
                               preamble_names::end;
  if (!say(socket, preamble)) return false;
  const std::string heard = hear(socket, preamble_names::end);
  if (heard.empty()) return false;
  if (const auto answer = read_elements_answer(heard)) {
    const ElementProofs proofs = element_proofs(self.token, who, to, answer->number);
    if (same_secret(answer->proof, proofs.listener)) {
      // From the proof on the listener has this connection: another call would come too late.
      set(socket, SOL_SOCKET, SO_RCVTIMEO, patience_once_proved);
      return say(socket, proofs.caller) && !hear(socket, preamble_names::accepted).empty();
    }
  }
  throw TransportError("what answers at " + address + " is not rank " + std::to_string(to) +
                       " of this run");
}

}  // namespace

TcpLink::~TcpLink() {
  for (const Unsent& each : unsent_) each.slices->drop();
}

// Tries all addresses of the host; the next time a little later, and with more patience: a network
// may be long, and this rank serves nobody else meanwhile.
void TcpLink::call(const std::string& address, const GrpcSelf& self, Rank to) {
  if (clock_now() < pause_until_) return;
  std::string failure;
  const HostPort where = parse_host_port("rank " + std::to_string(to), address);
  const Addresses places = resolve(where, 0, failure);
  for (const addrinfo* place = places.get(); place != nullptr; place = place->ai_next) {
    Descriptor socket = connected_to(*place, patience_);
    if (socket.number() >= 0 && is_accepted(socket, self, to, address)) {
      return take(std::move(socket));
    }
  }
  pause_until_ = clock_now() + between_calls;
  patience_ = std::min(2 * patience_, longest_patience);
}

// On one host nothing is congested: an algorithm that paces what it sends (BBR) only costs there.
void TcpLink::take(Descriptor socket) {
  socket_ = std::move(socket);
  sockaddr_storage own{}, peer{};
  socklen_t length = sizeof own, peer_length = sizeof peer;
  auto* const here = reinterpret_cast<sockaddr*>(&own);
  auto* const there = reinterpret_cast<sockaddr*>(&peer);
  getsockname(socket_.number(), here, &length);
  getpeername(socket_.number(), there, &peer_length);
  if (address_in_text(here, length).host != address_in_text(there, peer_length).host) return;
  constexpr char name[] = "reno";
  setsockopt(socket_.number(), IPPROTO_TCP, TCP_CONGESTION, name, sizeof name - 1);
}

std::int64_t TcpLink::write(std::span<const std::byte> bytes) {
  const std::int64_t n =
      moved(::send(socket_.number(), bytes.data(), std::min(bytes.size(), bytes_at_once),
                   MSG_NOSIGNAL | MSG_DONTWAIT));
  sent_ += n;
  return n;
}

bool TcpLink::flush() {
  bool any = false;
  for (std::size_t room = bytes_at_once; !unsent_.empty() && is_open() && room > 0;) {
    Unsent& first = unsent_.front();
    const auto sent = static_cast<std::size_t>(write(first.bytes));
    if (sent == 0) break;
    any = true;
    room -= std::min(room, sent);
    first.bytes = first.bytes.subspan(sent);
    if (!first.bytes.empty()) continue;
    first.slices->drop();
    unsent_.pop_front();
  }
  return any;
}

std::int64_t TcpLink::read(std::span<std::byte> into) {
  const ssize_t n = recv(socket_.number(), into.data(), into.size(), MSG_DONTWAIT);
  if (n == 0) broken_ = "its connection has ended";
  return moved(n);
}

std::int64_t TcpLink::moved(ssize_t n) {
  if (n >= 0) return n;
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) broken_ = std::strerror(errno);
  return 0;
}

}  // namespace collbench

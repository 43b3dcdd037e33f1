#include "transports/grpc/tcp_link.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/uio.h>

#include "core/error.h"
#include "core/keyed_digest.h"
#include "transports/grpc/preamble.h"

namespace collbench {

namespace {

constexpr std::size_t parts_at_once = 16;
// More in one call keeps this rank from reading what its peers send meanwhile, and leaves the
// cache.
constexpr std::size_t bytes_at_once = 256 << 10;
constexpr Seconds between_calls{0.05};

Seconds clock_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

bool may_come_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

TcpLink::~TcpLink() {
  for (const Unsent& each : unsent_) each.slices->drop();
}

void TcpLink::call(const std::string& address, const GrpcSelf& self, Rank to) {
  where_ = parse_host_port("rank " + std::to_string(to), address);
  self_ = self;
  to_ = to;
  call_next();
}

// Tries the next address of the host; after the last one, all of them again a little later.
void TcpLink::call_next() {
  state_ = State::calling;
  socket_ = Descriptor();
  if (next_ == nullptr) {
    std::string failure;
    addresses_ = resolve(where_, 0, failure);
    next_ = addresses_.get();
  }
  if (next_ == nullptr) {
    pause_until_ = clock_now() + between_calls;
    return;
  }
  const addrinfo& one = *std::exchange(next_, next_->ai_next);
  if (next_ == nullptr) pause_until_ = clock_now() + between_calls;
  socket_ =
      Descriptor(::socket(one.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  const int on = 1;
  setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(socket_.number(), one.ai_addr, one.ai_addrlen) != 0 && errno != EINPROGRESS) {
    socket_ = Descriptor();
  }
}

void TcpLink::take(Descriptor socket) {
  socket_ = std::move(socket);
  state_ = State::open;
}

void TcpLink::go_on() {
  if (state_ == State::calling) {
    pollfd writable{socket_.number(), POLLOUT, 0};
    if (socket_.number() >= 0 && poll(&writable, 1, 0) == 0) return;
    int error = socket_.number() < 0 ? ENOTCONN : 0;
    socklen_t length = sizeof error;
    if (error == 0) getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0) {
      begin_greeting();
    } else if (next_ != nullptr || clock_now() >= pause_until_) {
      call_next();
    }
  }
  if (state_ == State::greeting) take_answer();
  if (state_ == State::proving && hear(1)) state_ = State::open;
}

// The peer's guard drops some of too many callers, before it has said that it accepts one.
void TcpLink::call_later() {
  broken_.clear();
  next_ = nullptr;
  pause_until_ = clock_now() + between_calls;
  state_ = State::calling;
  socket_ = Descriptor();
}

// Whether anything has come.
bool TcpLink::hear(std::size_t most) {
  std::array<std::byte, longest_preamble> bytes;
  const std::int64_t n = read(std::span(bytes).first(most));
  heard_.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(n));
  if (!broken_.empty()) call_later();
  return n > 0;
}

void TcpLink::begin_greeting() {
  state_ = State::greeting;
  heard_.clear();
  who_ = {self_.rank, self_.ranks, random_digits()};
  const std::string preamble = std::string(preamble_names::start) + preamble_names::target +
                               " HTTP/1.0\r\n" + preamble_names::header + ": " +
                               preamble_value(ConnectionUse::elements, who_, self_.token) +
                               preamble_names::end;
  const auto bytes = std::as_bytes(std::span(preamble));
  write({&bytes, 1});
}

void TcpLink::take_answer() {
  if (!hear(longest_preamble)) return;
  if (!heard_.ends_with(preamble_names::end)) {
    if (heard_.size() <= longest_preamble) return;
  } else if (const auto answer = read_elements_answer(heard_)) {
    const ElementProofs proofs = element_proofs(self_.token, who_, to_, answer->number);
    if (same_secret(answer->proof, proofs.listener)) {
      const auto proof = std::as_bytes(std::span(proofs.caller));
      write({&proof, 1});
      state_ = State::proving;
      return;
    }
  }
  throw TransportError("what answers at " + to_string(where_) + " is not rank " +
                       std::to_string(to_) + " of this run");
}

std::int64_t TcpLink::write(std::span<const std::span<const std::byte>> parts) {
  std::array<iovec, parts_at_once> pieces;
  std::size_t count = 0;
  std::size_t room = bytes_at_once;
  for (const auto& part : parts) {
    if (count == parts_at_once || room == 0) break;
    const std::size_t n = std::min(room, part.size());
    pieces[count++] = {const_cast<std::byte*>(part.data()), n};
    room -= n;
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = count;
  const ssize_t n = sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n >= 0) return n;
  if (!may_come_later(errno)) broken_ = std::strerror(errno);
  return 0;
}

bool TcpLink::flush() {
  if (unsent_.empty() || !is_open()) return false;
  std::array<std::span<const std::byte>, parts_at_once> parts;
  std::size_t count = 0;
  for (const Unsent& each : unsent_) {
    if (count == parts.size()) break;
    parts[count++] = each.bytes;
  }
  const std::int64_t sent = write(std::span(parts).first(count));
  for (auto left = static_cast<std::size_t>(sent); left > 0;) {
    Unsent& first = unsent_.front();
    const std::size_t n = std::min(left, first.bytes.size());
    first.bytes = first.bytes.subspan(n);
    left -= n;
    if (!first.bytes.empty()) break;
    first.slices->drop();
    unsent_.pop_front();
  }
  return sent > 0;
}

std::int64_t TcpLink::read(std::span<std::byte> into) {
  const ssize_t n = recv(socket_.number(), into.data(), into.size(), MSG_DONTWAIT);
  if (n > 0) return n;
  if (n == 0) {
    broken_ = "its connection has ended";
  } else if (!may_come_later(errno)) {
    broken_ = std::strerror(errno);
  }
  return 0;
}

}  // namespace collbench

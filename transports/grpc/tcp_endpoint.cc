// The endpoint whose elements go over plain TCP connections, one for every pair of ranks that talk.
//
// Joining, heartbeats, and who is to blame are those of the wire, over gRPC's streams, which are
// idle while elements move. gRPC costs 14 us for a message however short; a socket that is polled
// 3 to 4.
//
// Elements are read where they are needed: into the receiver's memory for a plain receive, and for
// a reduction into a buffer that the cache holds, from which they are reduced before more is read.
// Nothing is read from a peer unless a receive from it is posted, so the kernel's flow control is
// all the credit that there is.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <poll.h>

#include "core/error.h"
#include "transports/grpc/polled_endpoint.h"
#include "transports/grpc/tcp_link.h"

namespace collbench {

namespace {

constexpr std::int64_t buffer_bytes = 256 << 10;  // of one peer
constexpr Seconds between_controls{0.001};        // of the wire; the longest sleep at opening
constexpr Seconds for_streams_to_tell{2.0};

class TcpEndpoint final : public PolledEndpoint {
 public:
  explicit TcpEndpoint(const GrpcOptions& options)
      : PolledEndpoint(options), links_(static_cast<std::size_t>(options.ranks)) {
    require(!options.tls.used(),
            "the transport tcp sends elements in the clear, and TLS was asked for; use the "
            "transport raw");
    wire_ = std::make_unique<GrpcWire>(options, static_cast<Client&>(*this));
    wire_->take_elements();
  }
  ~TcpEndpoint() override { wire_->stop(); }

  Ticket send(Rank to, Region from) override {
    const std::span<const std::byte> bytes(from.data, static_cast<std::size_t>(from.size().count));
    if (bytes.empty()) return 0;
    check_peer(to);
    wire_->to(to);
    Ticket ticket = 0;
    link_to(to).tcp.send(
        bytes, [&]() -> SliceCount& { return *start_sending(to, from.size(), ticket).slices; });
    return ticket;
  }

 private:
  struct Link {
    TcpLink tcp;
    std::vector<std::byte> buffer;
    bool is_used = false;    // in used_
    Seconds whole_until{0};  // the last time that the connection was seen whole, once it broke
  };

  void received(Rank /*from*/, std::span<const std::span<const std::byte>> /*pieces*/,
                const std::shared_ptr<const void>& /*keeper*/) override {
    wire_->suspect("elements came over a stream of gRPC: all ranks need --transport tcp", true);
  }
  void expect(Rank from, Bytes /*size*/, bool /*fold*/) override { link_to(from); }
  bool has_ended(Rank peer) const override {
    const TcpLink& link = links_[static_cast<std::size_t>(peer)].tcp;
    return wire_->sent_all(peer) && (!link.is_open() || !link.broken().empty());
  }
  std::int64_t handed_to(Rank peer) const override {
    return links_[static_cast<std::size_t>(peer)].tcp.sent();
  }
  // Whole elements that are held wait for those of other peers.
  bool takes_more(Rank peer) {
    return intake_.awaits(peer) && intake_.queue(peer).size() < widest_element;
  }

  bool poll(Seconds longest) override {
    if (wire_->stopping()) return wire_->poll(longest);  // the caller's memory is no longer ours
    if (opening_) {
      take_connections();
      longest = std::min(longest, between_controls);
    }
    bool moved = move();
    if (!moved && longest > Seconds{0}) {
      sleep(longest);
      moved = move();
    }
    const Seconds time = now();
    if (moved && time - controlled_ < between_controls) return true;
    if (longest <= Seconds{0} && time - controlled_ < between_controls) return false;
    controlled_ = time;
    // Beside much load, looks that do not wait miss for seconds what gRPC has: it needs a wait now
    // and then, and here nothing came for a whole sleep.
    return wire_->poll(moved || longest <= Seconds{0} ? Seconds{0} : between_controls) || moved;
  }

  Link& link_to(Rank peer) {
    Link& link = links_[static_cast<std::size_t>(peer)];
    if (link.is_used) return link;
    wire_->reach(peer);  // so that it can be asked whether it lives
    link.is_used = true;
    link.buffer.resize(buffer_bytes);
    used_.push_back(peer);
    opening_ = opening_ || !link.tcp.is_open();
    return link;
  }

  void take_connections() {
    for (ElementsConnection& each : wire_->take_elements()) {
      Link& link = links_[static_cast<std::size_t>(each.from)];
      if (each.from < rank() && !link.tcp.is_open()) link.tcp.take(std::move(each.socket));
    }
    opening_ = false;
    for (const Rank peer : used_) {
      TcpLink& link = links_[static_cast<std::size_t>(peer)].tcp;
      if (rank() < peer && !link.is_open()) {
        link.call(wire_->address_of(peer), wire_->self(), peer);
      }
      opening_ = opening_ || !link.is_open();
    }
  }

  // Sends and receives what goes without waiting.
  bool move() {
    bool moved = false;
    for (const Rank peer : used_) {
      Link& link = links_[static_cast<std::size_t>(peer)];
      if (!link.tcp.is_open()) continue;
      moved |= link.tcp.flush();
      if (takes_more(peer)) moved |= receive(peer, link);
      if (!link.tcp.broken().empty()) mourn(peer, link);
    }
    return moved;
  }

  // Whoever has given up because of a third rank, or was killed, is told better by its streams.
  void mourn(Rank peer, Link& link) {
    if (link.whole_until == Seconds{0}) link.whole_until = now();
    if (now() - link.whole_until < for_streams_to_tell) return;
    wire_->suspect("rank " + std::to_string(peer) + " was lost: " + link.tcp.broken(), false);
  }

  bool receive(Rank from, Link& link) {
    ByteQueue& queue = intake_.queue(from);
    if (const std::span<std::byte> room = intake_.room(from); !room.empty()) {
      const std::int64_t n = link.tcp.read(room);
      if (n > 0) intake_.filled(from, n);
      return n > 0;
    }
    const std::int64_t held = queue.size();
    // What is held is part of an element: the rest of it comes behind it.
    std::array<std::byte, widest_element> part;
    const std::span<std::byte> kept(part.data(), static_cast<std::size_t>(held));
    queue.peek(kept);
    const std::int64_t n = link.tcp.read(std::span(link.buffer).subspan(kept.size()));
    if (n == 0) return false;
    queue.consume(held);
    std::memcpy(link.buffer.data(), part.data(), kept.size());
    queue.push(std::span(link.buffer).first(static_cast<std::size_t>(held + n)), nullptr);
    intake_.settle();
    return true;
  }

  void sleep(Seconds longest) {
    std::vector<pollfd> waiting;
    for (const Rank peer : used_) {
      const TcpLink& tcp = links_[static_cast<std::size_t>(peer)].tcp;
      const int events = (tcp.waits_to_write() ? POLLOUT : 0) | (takes_more(peer) ? POLLIN : 0);
      if (!tcp.is_open() || !tcp.broken().empty() || events == 0) continue;
      waiting.push_back({tcp.descriptor(), static_cast<short>(events), 0});
    }
    ::poll(waiting.data(), waiting.size(), std::max(1, static_cast<int>(longest.count() * 1000)));
  }

  std::vector<Link> links_;  // by rank
  std::vector<Rank> used_;
  bool opening_ = false;  // some link that is used is not open
  Seconds controlled_{0};
};

}  // namespace

std::unique_ptr<GrpcEndpoint> make_tcp_endpoint(const GrpcOptions& options) {
  return std::make_unique<TcpEndpoint>(options);
}

}  // namespace collbench

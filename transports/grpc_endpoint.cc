#include "transports/grpc_endpoint.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "transports/grpc_agreement.h"
#include "transports/grpc_intake.h"
#include "transports/grpc_patience.h"
#include "transports/grpc_wire.h"

namespace collbench {

namespace {

// Up to here a send is copied, which costs less than to wait for gRPC to release the memory.
constexpr std::int64_t copied_at_most = 8192;  // bytes

// Pushes elements over the streams of a wire and folds them as they arrive.
class StreamEndpoint final : public GrpcEndpoint, private GrpcWire::Client {
 public:
  explicit StreamEndpoint(const GrpcOptions& options)
      : options_(options), intake_(options.rank, options.ranks), wire_(options, *this) {}

  Rank rank() const override { return options_.rank; }
  int ranks() const override { return options_.ranks; }
  Seconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  std::string address() const override { return wire_.address(); }
  void connect(const std::vector<std::string>& addresses) override { wire_.connect(addresses); }
  void check_agreement(const std::string& settings) override { agree(*this, settings); }
  void reserve(const Traffic& /*traffic*/) override {}  // streams hold any number of messages

  Ticket send(Rank to, Region from) override;
  Ticket recv(Rank from, Region into) override;
  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override;
  void wait(Ticket ticket) override;

 private:
  struct Sending {
    SliceCount slices{0};
    Rank to = -1;
    Bytes size;
  };
  class AwaitedSend;
  class AwaitedReceive;

  // Tickets: 0 is complete already, odd ones are sends, even ones receives.
  static Ticket send_ticket(std::size_t slot) { return 2 * slot + 1; }
  static Ticket receive_ticket(std::size_t slot) { return 2 * slot + 2; }

  void check_peer(Rank peer) const;
  void settle();
  void await(GrpcAwaited& awaited);
  void received(Rank from, std::span<const std::span<const std::byte>> pieces,
                const std::shared_ptr<const void>& keeper) override;
  std::string occupation() const override;

  const GrpcOptions options_;
  Intake intake_;
  std::vector<Rank> paused_;  // peers that are not read, for their window is full
  std::vector<std::unique_ptr<Sending>> sendings_;
  std::vector<std::size_t> free_sendings_;
  const GrpcAwaited* awaited_ = nullptr;
  GrpcWire wire_;  // last: it lets go of what it sends and receives before the rest is destroyed
};

class StreamEndpoint::AwaitedSend final : public GrpcAwaited {
 public:
  AwaitedSend(StreamEndpoint& endpoint, const Sending& sending)
      : endpoint_(endpoint), sending_(sending) {}
  bool done() override {
    endpoint_.settle();
    return sending_.slices.load(std::memory_order_acquire) == 0;
  }
  Lack lack() const override { return {sending_.to, sending_.size, true}; }

 private:
  StreamEndpoint& endpoint_;
  const Sending& sending_;
};

class StreamEndpoint::AwaitedReceive final : public GrpcAwaited {
 public:
  AwaitedReceive(StreamEndpoint& endpoint, Intake::Slot slot) : endpoint_(endpoint), slot_(slot) {}
  bool done() override {
    endpoint_.settle();
    return endpoint_.intake_.finished(slot_);
  }
  Lack lack() const override {
    const Intake::Lack lack = endpoint_.intake_.lack(slot_);
    return {lack.from, lack.bytes, false};
  }

 private:
  StreamEndpoint& endpoint_;
  const Intake::Slot slot_;
};

void StreamEndpoint::check_peer(Rank peer) const {
  require(peer >= 0 && peer < ranks() && peer != rank(),
          "grpc: rank " + std::to_string(rank()) + " of " + std::to_string(ranks()) +
              " has no stream to rank " + std::to_string(peer));
}

Endpoint::Ticket StreamEndpoint::send(Rank to, Region from) {
  const std::span<const std::byte> bytes(from.data, static_cast<std::size_t>(from.size().count));
  if (bytes.empty()) return 0;
  check_peer(to);
  OutgoingStream& stream = wire_.to(to);
  if (std::ssize(bytes) <= copied_at_most && stream.unsent() < options_.window) {
    stream.send_copy(bytes);
    return 0;
  }
  if (free_sendings_.empty()) {
    sendings_.push_back(std::make_unique<Sending>());
    free_sendings_.push_back(sendings_.size() - 1);
  }
  const std::size_t slot = free_sendings_.back();
  free_sendings_.pop_back();
  Sending& sending = *sendings_[slot];
  sending.to = to;
  sending.size = from.size();
  stream.send(bytes, sending.slices);
  return send_ticket(slot);
}

Endpoint::Ticket StreamEndpoint::recv(Rank from, Region into) {
  if (into.count == 0) return 0;
  check_peer(from);
  return receive_ticket(intake_.post_copy(from, into));
}

Endpoint::Ticket StreamEndpoint::recv_reduce(std::span<const Rank> sources, Region own, Region into,
                                             Reduction reduction) {
  if (into.count == 0) return 0;
  for (const Rank source : sources) {
    if (source != rank()) check_peer(source);
  }
  return receive_ticket(intake_.post_fold(sources, own, into, reduction));
}

void StreamEndpoint::wait(Ticket ticket) {
  if (ticket == 0) return;
  if (ticket % 2 == 1) {
    const std::size_t slot = (ticket - 1) / 2;
    AwaitedSend awaited(*this, *sendings_[slot]);
    await(awaited);
    free_sendings_.push_back(slot);
  } else {
    const Intake::Slot slot = (ticket - 2) / 2;
    AwaitedReceive awaited(*this, slot);
    await(awaited);
    intake_.release(slot);
  }
}

void StreamEndpoint::await(GrpcAwaited& awaited) {
  awaited_ = &awaited;
  wait_on(wire_, awaited, rank(), ranks(), options_.timeout);
  awaited_ = nullptr;
}

void StreamEndpoint::settle() {
  if (!intake_.settle() || paused_.empty()) return;
  std::erase_if(paused_, [this](Rank from) {
    if (intake_.queue(from).size() >= options_.window.count) return false;
    wire_.read(from);
    return true;
  });
}

void StreamEndpoint::received(Rank from, std::span<const std::span<const std::byte>> pieces,
                              const std::shared_ptr<const void>& keeper) {
  ByteQueue& queue = intake_.queue(from);
  for (const auto& piece : pieces) queue.push(piece, keeper);
  if (queue.size() < options_.window.count) {
    wire_.read(from);
  } else {
    paused_.push_back(from);
  }
}

std::string StreamEndpoint::occupation() const {
  return awaited_ == nullptr ? "is between transfers" : describe(awaited_->lack());
}

}  // namespace

std::unique_ptr<GrpcEndpoint> make_grpc_endpoint(const GrpcOptions& options) {
  require(options.ranks >= 1 && options.rank >= 0 && options.rank < options.ranks,
          "grpc: there is no rank " + std::to_string(options.rank) + " of " +
              std::to_string(options.ranks));
  return std::make_unique<StreamEndpoint>(options);
}

}  // namespace collbench

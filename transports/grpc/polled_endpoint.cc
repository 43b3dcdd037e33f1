#include "transports/grpc/polled_endpoint.h"

#include <chrono>

#include "core/error.h"

namespace collbench {

namespace {

// Tickets: 0 is complete already, odd ones are sends, even ones receives.
Endpoint::Ticket send_ticket(std::size_t slot) { return 2 * slot + 1; }
Endpoint::Ticket receive_ticket(std::size_t slot) { return 2 * slot + 2; }

}  // namespace

class PolledEndpoint::AwaitedSend final : public GrpcAwaited {
 public:
  AwaitedSend(PolledEndpoint& endpoint, const Sending& sending)
      : endpoint_(endpoint), sending_(sending) {}
  bool done() override {
    endpoint_.settle();
    return sending_.slices->released();
  }
  Lack lack() const override { return {sending_.to, sending_.size, true, true}; }

 private:
  PolledEndpoint& endpoint_;
  const Sending& sending_;
};

class PolledEndpoint::AwaitedReceive final : public GrpcAwaited {
 public:
  AwaitedReceive(PolledEndpoint& endpoint, Intake::Slot slot) : endpoint_(endpoint), slot_(slot) {}
  bool done() override {
    endpoint_.settle();
    return endpoint_.intake_.finished(slot_);
  }
  Lack lack() const override {
    const Intake::Lack lack = endpoint_.intake_.lack(slot_);
    return {lack.from, lack.bytes, false, endpoint_.streams()};
  }

 private:
  PolledEndpoint& endpoint_;
  const Intake::Slot slot_;
};

PolledEndpoint::PolledEndpoint(const GrpcOptions& options)
    : options_(options), intake_(options.rank, options.ranks) {
  require(options.ranks >= 1 && options.rank >= 0 && options.rank < options.ranks,
          "grpc: there is no rank " + std::to_string(options.rank) + " of " +
              std::to_string(options.ranks));
}

Seconds PolledEndpoint::now() const { return std::chrono::steady_clock::now().time_since_epoch(); }

void PolledEndpoint::check_peer(Rank peer) const {
  require(peer >= 0 && peer < ranks() && peer != rank(),
          "grpc: rank " + std::to_string(rank()) + " of " + std::to_string(ranks()) +
              " has no stream to rank " + std::to_string(peer));
}

PolledEndpoint::Sending& PolledEndpoint::start_sending(Rank to, Bytes size, Ticket& ticket) {
  if (free_sendings_.empty()) {
    sendings_.push_back(std::make_unique<Sending>());
    free_sendings_.push_back(sendings_.size() - 1);
  }
  const std::size_t slot = free_sendings_.back();
  free_sendings_.pop_back();
  Sending& sending = *sendings_[slot];
  sending.to = to;
  sending.size = size;
  ticket = send_ticket(slot);
  return sending;
}

Endpoint::Ticket PolledEndpoint::recv(Rank from, Region into) {
  if (into.count == 0) return 0;
  check_peer(from);
  const Intake::Slot slot = intake_.post_copy(from, into);
  expect(from, into.size(), false);
  return receive_ticket(slot);
}

Endpoint::Ticket PolledEndpoint::recv_reduce(std::span<const Rank> sources, Region own, Region into,
                                             Reduction reduction) {
  if (into.count == 0) return 0;
  for (const Rank source : sources) {
    if (source != rank()) check_peer(source);
  }
  const Intake::Slot slot = intake_.post_fold(sources, own, into, reduction);
  for (const Rank source : sources) {
    if (source != rank()) expect(source, into.size(), true);
  }
  return receive_ticket(slot);
}

void PolledEndpoint::wait(Ticket ticket) {
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

std::string PolledEndpoint::give_up(const std::string& reason) {
  if (wire_->stopping()) return reason;  // it has given up before
  try {
    wire_->fail(reason);
  } catch (const TransportError&) {
    return reason;  // what the caller knows
  }
}

void PolledEndpoint::await(GrpcAwaited& awaited) {
  awaited_ = &awaited;
  wait_on(*wire_, awaited, rank(), {options_.timeout, options_.heartbeat});
  awaited_ = nullptr;
}

void PolledEndpoint::settle() {
  if (intake_.settle()) made_room();
}

std::string PolledEndpoint::occupation() const {
  return awaited_ == nullptr ? "is between transfers" : describe(awaited_->lack());
}

}  // namespace collbench

#include "transports/grpc/polled_endpoint.h"

#include <chrono>

#include "core/error.h"

namespace collbench {

PolledEndpoint::PolledEndpoint(const GrpcOptions& options)
    : options_(options), intake_(options.rank, options.ranks) {
  require(options.ranks >= 1 && options.rank >= 0 && options.rank < options.ranks,
          "grpc: there is no rank " + std::to_string(options.rank) + " of " +
              std::to_string(options.ranks));
}

Seconds PolledEndpoint::now() const { return std::chrono::steady_clock::now().time_since_epoch(); }

void PolledEndpoint::check_peer(Rank peer) const {
  if (peer >= 0 && peer < ranks() && peer != rank()) return;  // each message: no words are made
  throw InvalidArgument("grpc: rank " + std::to_string(rank()) + " of " + std::to_string(ranks()) +
                        " has no stream to rank " + std::to_string(peer));
}

PolledEndpoint::Sending& PolledEndpoint::start_sending(Rank to, Bytes size, Ticket& ticket) {
  const std::size_t slot = sendings_.take();
  Sending& sending = sendings_[slot];
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
  const std::size_t slot = slot_of(ticket);
  if (is_send(ticket)) {
    const Sending& sending = sendings_[slot];
    await({[&] {
             settle();
             return sending.slices->released();
           },
           [&] {
             return GrpcAwaited::Lack{sending.to, sending.size, true, false, handed_to(sending.to)};
           }});
    sendings_.give_back(slot);
  } else {
    await({[this, slot] {
             settle();
             return intake_.finished(slot);
           },
           [this, slot] {
             const Intake::Lack lack = intake_.lack(slot);
             return GrpcAwaited::Lack{lack.from, lack.bytes, false,
                                      lack.from >= 0 && has_ended(lack.from)};
           }});
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

void PolledEndpoint::await(const GrpcAwaited& awaited) {
  awaited_ = &awaited;
  wait_on(*wire_, poll_, awaited, rank(), {options_.timeout, options_.heartbeat});
  awaited_ = nullptr;
}

void PolledEndpoint::settle() {
  if (intake_.settle()) made_room();
}

std::string PolledEndpoint::occupation() const {
  return awaited_ == nullptr ? "is between transfers" : describe(awaited_->lack());
}

}  // namespace collbench

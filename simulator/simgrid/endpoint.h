// One simulated rank of one track as an Endpoint: execute() plays on it as it plays on shared
// memory or gRPC.
//
// Operations come without their round, but in its order, so the endpoint walks along the schedule:
// with the first operation beyond a round the rank enters the next one that has any. There it
// first pays for the reductions of the round behind it, then expects all messages of the new one.
// Sends are buffered (with real data, copied), so waiting for one returns at once.
#pragma once

#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "algorithms/resolve.h"
#include "simulator/simgrid/world.h"
#include "transports/endpoint.h"

namespace collbench {

/// Thread safety: belongs to the actor of its position.
class SimulatedEndpoint final : public Endpoint {
 public:
  /// Plays rank position % ranks of the track `schedule`. `element_bytes` is what an element of a
  /// region stands for.
  SimulatedEndpoint(SimgridWorld& world, const Schedule& schedule, int position,
                    double element_bytes);

  /// Leaves the last round and says when that was; then stays until all ranks have, since messages
  /// end with their actors.
  double finish();

  Rank rank() const override { return rank_; }
  int ranks() const override { return schedule_.ranks(); }
  Seconds now() const override { return Seconds{world_.kernel().now()}; }
  void reserve(const Traffic&) override {}
  Ticket send(Rank to, Region from) override;
  Ticket recv(Rank from, Region into) override;
  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override;
  void wait(Ticket ticket) override;

 private:
  struct Receive {
    std::span<const Rank> sources;  // of a reduction; empty: a plain receive
    std::vector<SimgridMessagePtr> messages;
    Region own;
    Region into;
    Reduction reduction;
  };
  void operation();
  void enter(int round);
  void pay();
  SimgridMessagePtr next_from(Rank from);
  Ticket post(Receive receive);
  void store(const Receive& receive) const;
  void forget_arrived_sends();

  SimgridWorld& world_;
  const Schedule& schedule_;
  Rank rank_;
  int track_begin_;  // the position of rank 0
  double element_bytes_;
  double debt_ = 0;  // of the round: Turn::reduction, seconds
  int round_ = 0;
  std::size_t left_ = 0;  // operations of the round still to come
  std::size_t sends_ = 0;
  Turn turn_;
  ResolvedRound row_;
  std::unordered_map<Rank, std::deque<SimgridMessagePtr>> expected_;
  std::deque<SimgridMessagePtr> sent_;  // whose put is not yet freed
  std::unordered_map<Ticket, Receive> receives_;
  Ticket last_ticket_ = 0;
};

}  // namespace collbench

// The one loop that plays collectives, on any machine.
//
// It does the steps of a plan in their order. Where a wait does not end at once (Endpoint's
// try_wait()) it first does what it can of the steps behind that do not need it: on fewer cores
// than ranks every wait costs a turn of all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "transports/endpoint.h"
#include "transports/play/plan.h"

namespace collbench {

/// A plan bound to an endpoint: owns the tickets of its replays.
/// Thread safety: belongs to the thread of its endpoint.
class BoundPlan {
 public:
  /// Throws InvalidArgument if the endpoint cannot hold the plan's traffic.
  BoundPlan(Plan plan, Endpoint& endpoint);
  const Plan& plan() const { return plan_; }

 private:
  friend class PlanReplay;
  Plan plan_;
  Endpoint* endpoint_;
  std::vector<Endpoint::Ticket> tickets_;
  std::vector<std::uint64_t> order_;  // step_order(), made when a wait first does not end at once
};

/// Plays this rank's part of a collective. `in` and `out` hold the plan's input() and output(); in
/// place, both are the whole vector. Every rank must play the same schedule.
/// Throws TransportError, naming the peer, if one is lost.
void execute(BoundPlan& bound, Region in, Region out);

}  // namespace collbench

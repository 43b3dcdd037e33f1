// The symbolic verifier: proves that a schedule implements a collective, or says where it does not.
//
// Every chunk of every rank holds an expression over the ranks' contributions, or nothing yet.
// Playing the schedule on expressions shows that each rank ends with what the collective asks for
// (every contribution exactly once, or the one that is copied), that no rank passes on what it
// does not have, that sends meet receives, that no plain receive lands in chunks its rank sends in
// the same round, and whether all ranks of an all-reduce end with the same expression up to
// commuting two terms, which IEEE addition does bit by bit (replica consistency: mirrored variables
// then stay bitwise equal).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective.h"
#include "algorithms/expressions.h"
#include "algorithms/schedule.h"

namespace collbench {

/// One thing that is wrong, in words: "round 3: rank 2 receives chunk 1 from 0, which does not
/// send".
struct Violation {
  std::string what;
};

struct Verification {
  std::vector<Violation> violations;  // empty means proven; stops after 20
  bool replica_consistent = false;    // of an all-reduce without violations
  bool ok() const { return violations.empty(); }
};

/// Proves or refutes in O(ranks * rounds * operations) set unions, for each of `groups` (all ranks
/// if empty; ranks in no group must end as they began, which is not checked). Throws
/// InvalidArgument for a root or groups that the ranks do not have.
Verification verify(const Schedule& schedule, const Collective& collective,
                    const Groups& groups = {});
Verification verify_allreduce(const Schedule& schedule);

/// In which order the sum of each chunk is taken, on the first rank that has it at the end. Throws
/// InvalidArgument with the first violation of a schedule that is not proven, and for a collective
/// that adds nothing.
std::vector<AdditionOrder> addition_orders(const Schedule& schedule, const Collective& collective);

/// What a schedule costs, counted from its operations; every maximum is over ranks.
struct ScheduleCost {
  int rounds = 0;
  std::int64_t max_sent = 0;
  std::int64_t max_received = 0;
  std::int64_t max_reduced = 0;
  std::int64_t max_messages = 0;  // sends of one rank
  std::int64_t total_messages = 0;
  std::int64_t total_sent = 0;
};
/// What is sent, received and reduced in chunks (divide by chunks() for multiples of the vector),
/// or in elements of a vector of `count`, if that is not 0.
ScheduleCost count_cost(const Schedule& schedule, std::int64_t count = 0);

}  // namespace collbench

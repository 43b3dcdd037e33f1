// The symbolic verifier: proves that a schedule is an all-reduce, or says where it is not.
//
// Every chunk of every rank holds an expression over the ranks' contributions. Playing the schedule
// on expressions shows that each rank ends with every contribution exactly once, that sends meet
// receives, that no plain receive lands in chunks its rank sends in the same round, and whether all
// ranks end with the same expression up to commuting two terms, which IEEE addition does bit by bit
// (replica consistency: mirrored variables then stay bitwise equal).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

/// One thing that is wrong, in words: "round 3: rank 2 receives chunk 1 from 0, which does not
/// send".
struct Violation {
  std::string what;
};

struct Verification {
  std::vector<Violation> violations;  // empty means proven; stops after 20
  bool replica_consistent = false;    // meaningful when there are no violations
  bool ok() const { return violations.empty(); }
};

/// Proves or refutes in O(ranks * rounds * operations) set unions.
Verification verify_allreduce(const Schedule& schedule);

/// What a schedule costs, counted from its operations. Bytes are in chunks (divide by chunks() for
/// multiples of the vector M); every maximum is over ranks.
struct ScheduleCost {
  int rounds = 0;
  std::int64_t max_sent_chunks = 0;
  std::int64_t max_received_chunks = 0;
  std::int64_t max_reduced_chunks = 0;
  std::int64_t max_messages = 0;  // sends of one rank
  std::int64_t total_messages = 0;
  std::int64_t total_sent_chunks = 0;
};
ScheduleCost count_cost(const Schedule& schedule);

}  // namespace collbench

#include "training/gradient_schedule.h"

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "heuristics/policies/choose.h"

namespace collbench {

ScheduleChoice gradient_schedule(const std::string& algorithm, std::string_view back_end, int ranks,
                                 int cores) {
  if (algorithm == "auto") {
    return [back_end = std::string(back_end), ranks, cores](Bytes bytes, DataType type) {
      const std::string chosen =
          choose(back_end, ranks, bytes, type, ReduceOp::sum, cores).algorithm;
      const bool fits = is_replica_consistent(parse_algorithm_spec(chosen));
      return make_schedule(fits ? chosen : "ring", ranks, bytes);
    };
  }
  make_schedule(algorithm, ranks);  // throws for what does not fit
  require(is_replica_consistent(parse_algorithm_spec(algorithm)),
          fmt::format("{} may leave different rounding on different ranks, and replicas must stay "
                      "equal to the bit; ring does",
                      algorithm));
  return
      [algorithm, ranks](Bytes bytes, DataType) { return make_schedule(algorithm, ranks, bytes); };
}

Schedule reduce_to_one(int ranks) {
  const auto play = [ranks](Rank rank, int, Round& out) {
    if (rank != 0) out.send(0, {0, 1});
    for (Rank peer = 1; rank == 0 && peer < ranks; ++peer) out.recv_reduce(peer, {0, 1});
  };
  return {"reduce-to-one", {.ranks = ranks, .chunks = 1, .rounds = ranks > 1 ? 1 : 0}, play};
}

}  // namespace collbench

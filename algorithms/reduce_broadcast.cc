#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "core/error.h"

namespace collbench {

Schedule reduce_broadcast(int ranks, Rank root) {
  require(root >= 0 && root < ranks, "reduce-broadcast: root must be 0 to " +
                                         std::to_string(ranks - 1) + ", not " +
                                         std::to_string(root));
  const Phases phases = sharded_phases(ranks, 1, [root](int) { return root; });
  return sequence("reduce-broadcast", {phases.reduce_scatter, phases.all_gather});
}

}  // namespace collbench

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/rooted.h"
#include "core/error.h"

namespace collbench {

Schedule reduce_broadcast(int ranks, Rank root) {
  require(root >= 0 && root < ranks, "reduce-broadcast: root must be 0 to " +
                                         std::to_string(ranks - 1) + ", not " +
                                         std::to_string(root));
  const RootedPhases phases = flat_phases(ranks, root);
  return sequence("reduce-broadcast", {phases.reduce, phases.broadcast});
}

}  // namespace collbench

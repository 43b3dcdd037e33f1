#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"

namespace collbench {

Schedule ring(int ranks, RingVariant variant, int segments) {
  const Phases phases = variant == RingVariant::one_way         ? ring_phases(ranks)
                        : variant == RingVariant::bidirectional ? bidirectional_phases(ranks)
                                                                : pincer_phases(ranks);
  return split(sequence("ring", {phases.reduce_scatter, phases.all_gather}), segments);
}

}  // namespace collbench

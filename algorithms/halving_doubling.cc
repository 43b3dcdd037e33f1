#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"

namespace collbench {

Schedule halving_doubling(int ranks, DistanceOrder order) {
  const int p = floor_power_of_two(ranks);
  // Near: the first and largest exchange is with the next rank; far: with the rank p/2 away.
  const Partner near = [](Rank r, int t) { return r ^ (1 << t); };
  const Partner far = [p](Rank r, int t) { return r ^ (p >> (t + 1)); };
  const Phases phases = butterfly_phases(p, order == DistanceOrder::near ? near : far);
  const Schedule inner = sequence("butterfly", {phases.reduce_scatter, phases.all_gather});
  return named("halving-doubling", folded(inner, ranks));
}

}  // namespace collbench

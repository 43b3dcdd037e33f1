#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"

namespace collbench {

Schedule recursive_doubling(int ranks) {
  const Partner partner = [](Rank r, int t) { return r ^ (1 << t); };
  return named("recursive-doubling",
               folded(butterfly_exchange(floor_power_of_two(ranks), partner), ranks));
}

}  // namespace collbench

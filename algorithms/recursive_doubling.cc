#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/grid_butterfly.h"

namespace collbench {

Schedule recursive_doubling(int ranks) {
  return named("recursive-doubling",
               folded(recursive_doubling(std::vector<int>{floor_power_of_two(ranks)}, 1), ranks));
}

Schedule recursive_doubling(const std::vector<int>& dims, int tracks) {
  return grid_butterfly("recursive-doubling", {dims, tracks, near_partner, nullptr, true});
}

}  // namespace collbench

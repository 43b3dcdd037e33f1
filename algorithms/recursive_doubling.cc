#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/grid_butterfly.h"

namespace collbench {

Schedule recursive_doubling(int ranks) {
  const std::vector<int> dims{floor_power_of_two(ranks)};
  return folded(recursive_doubling(dims, 1), ranks).named("recursive-doubling");
}

Schedule recursive_doubling(const std::vector<int>& dims, int tracks) {
  return grid_butterfly("recursive-doubling", {dims, tracks, near_partner, nullptr, true});
}

}  // namespace collbench

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/grid_butterfly.h"

namespace collbench {

Schedule halving_doubling(int ranks, DistanceOrder order) {
  const std::vector<int> dims{floor_power_of_two(ranks)};
  return folded(halving_doubling(dims, 1, order), ranks).named("halving-doubling");
}

Schedule halving_doubling(const std::vector<int>& dims, int tracks, DistanceOrder order) {
  const AxisPartner partner = order == DistanceOrder::near ? near_partner : far_partner;
  return grid_butterfly("halving-doubling", {dims, tracks, partner, nullptr, false});
}

}  // namespace collbench

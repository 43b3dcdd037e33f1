#include "algorithms/allreduce.h"
#include "algorithms/grid_butterfly.h"
#include "core/error.h"

namespace collbench {

Schedule swing(int ranks, bool latency_optimal) {
  const int p = floor_power_of_two(ranks);
  require(ranks == p, "swing: needs a power of two of ranks, not " + std::to_string(ranks) +
                          "; possible are " + std::to_string(p) + " and " + std::to_string(2 * p));
  return swing(std::vector<int>{ranks}, 1, latency_optimal);
}

Schedule swing(const std::vector<int>& dims, int tracks, bool latency_optimal) {
  return grid_butterfly("swing",
                        {dims, tracks, swing_partner, mirrored_swing_partner, latency_optimal});
}

}  // namespace collbench

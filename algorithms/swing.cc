#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "core/error.h"

namespace collbench {

Schedule swing(int ranks, bool latency_optimal) {
  const int p = floor_power_of_two(ranks);
  require(ranks == p, "swing: needs a power of two of ranks, not " + std::to_string(ranks) +
                          "; possible are " + std::to_string(p) + " and " + std::to_string(2 * p));
  // In round t an even rank jumps rho(t) = (1 - (-2)^(t+1)) / 3 places ahead, an odd one as far
  // back: 1, -1, 3, -5, 11, ... so that on a ring the partners stay close for long.
  const Partner partner = [p](Rank r, int t) {
    const int power = 1 << (t + 1);
    const int rho = (1 - ((t + 1) % 2 == 0 ? power : -power)) / 3;
    return (r + (r % 2 == 0 ? rho : -rho) + 2 * p) % p;
  };
  if (latency_optimal) return named("swing", butterfly_exchange(p, partner));
  const Phases phases = butterfly_phases(p, partner);
  return sequence("swing", {phases.reduce_scatter, phases.all_gather});
}

}  // namespace collbench

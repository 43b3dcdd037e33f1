#include "algorithms/rooted.h"

#include <bit>

#include "algorithms/combinators.h"
#include "algorithms/reduce_scatter.h"
#include "core/error.h"

namespace collbench {

Schedule binomial_broadcast(int ranks, Rank root) {
  require(ranks >= 1, "broadcast: ranks must be at least 1, not " + std::to_string(ranks));
  require(root >= 0 && root < ranks,
          "broadcast: root " + std::to_string(root) + " is not below " + std::to_string(ranks));
  const int rounds = std::bit_width(static_cast<unsigned>(ranks - 1));
  const auto play = [ranks, root](Rank r, int t, Round& out) {
    // Positions count from the root; after round t the first 2^(t+1) positions have the data.
    const int position = (r - root + ranks) % ranks;
    const int have = 1 << t;
    if (position < have && position + have < ranks) out.send((r + have) % ranks, {0, 1});
    if (position >= have && position < 2 * have) out.recv((r - have + ranks) % ranks, {0, 1});
  };
  return {"binomial-broadcast", {.ranks = ranks, .chunks = 1, .rounds = rounds}, play};
}

RootedPhases binomial_phases(int ranks, Rank root) {
  const Schedule broadcast = binomial_broadcast(ranks, root);
  return {mirrored(broadcast, OpKind::recv_reduce).named("binomial-reduce"), broadcast};
}

RootedPhases flat_phases(int ranks, Rank root) {
  const Phases phases = sharded_phases(ranks, 1, [root](int) { return root; });
  return {phases.reduce_scatter, phases.all_gather};
}

Schedule reduce_to_one(int ranks) {
  require(ranks >= 1, "reduce-to-one: ranks must be at least 1, not " + std::to_string(ranks));
  return flat_phases(ranks, 0).reduce.named("reduce-to-one");
}

}  // namespace collbench

#include <bit>
#include <memory>
#include <vector>

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "core/error.h"

namespace collbench {
namespace {

// One round of the all-gather: every rank passes shards on to the rank `hop` behind it, those of
// the ranks base, base + stride, base + 2 stride ... before it.
struct PatRound {
  int hop = 1;
  int base = 0;
  int stride = 1;
};

// The edges of the binomial tree below offset `base` that reach less than `size` further, depth
// first, so that few shards are under way at a time.
void walk(int base, int size, int stride, int ranks, std::vector<PatRound>& rounds) {
  for (int hop = size / 2; hop >= 1; hop /= 2) {
    if (base + hop >= ranks) continue;
    rounds.push_back({hop, base, stride});
    walk(base + hop, hop, stride, ranks, rounds);
  }
}

}  // namespace

// A shard reaches the rank s places behind its owner from the one s minus its lowest set bit places
// behind it. The far hops come first, one round each, with 1, 2, 4 ... shards; the near ones follow
// in trees of ranks / aggregation, all of which take the same step at the same time.
Phases pat_phases(int ranks, int aggregation) {
  const int size = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
  require(std::has_single_bit(static_cast<unsigned>(aggregation)) &&
              (aggregation == 1 || aggregation <= size / 2),
          "pat: aggregation must be a power of two of at most " +
              std::to_string(std::max(1, size / 2)) + ", not " + std::to_string(aggregation));
  const int near = size / aggregation;
  const auto rounds = std::make_shared<std::vector<PatRound>>();
  for (int hop = size / 2; hop >= near; hop /= 2) rounds->push_back({hop, 0, 2 * hop});
  walk(0, near, near, ranks, *rounds);
  const auto play = [ranks, rounds](Rank r, int t, Round& out) {
    const auto [hop, base, stride] = (*rounds)[static_cast<std::size_t>(t)];
    for (int s = base; s + hop < ranks; s += stride) {
      out.send((r + hop) % ranks, {(r - s + ranks) % ranks});
    }
    for (int s = base; s + hop < ranks; s += stride) {
      out.recv((r - hop + ranks) % ranks, {(r - hop - s + 2 * ranks) % ranks});
    }
  };
  const Schedule gather("pat", {ranks, ranks, static_cast<int>(rounds->size())}, play);
  return {mirrored(gather, OpKind::recv_reduce), gather};
}

Schedule pat(int ranks, int aggregation) {
  const Phases phases = pat_phases(ranks, aggregation);
  return sequence("pat", {phases.reduce_scatter, phases.all_gather});
}

}  // namespace collbench

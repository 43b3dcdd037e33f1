#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/reduce_scatter.h"

namespace collbench {

// Shard i is summed by owner(i), in rank order whatever the owner's own rank, and copied back.
// Ranks address their peers in the order r+1, r+2, ... so that no receiver is the first of all
// senders.
Phases sharded_phases(int ranks, int shards, const std::function<Rank(int shard)>& owner) {
  const auto reduce = [ranks, shards, owner](Rank r, int, Round& out) {
    for (int i = 0; i < shards; ++i) {
      // Owners ascend with i: start at the first shard whose owner lies after r.
      const int shard =
          static_cast<int>((static_cast<std::int64_t>(r) * shards / ranks + 1 + i) % shards);
      if (owner(shard) != r) out.send(owner(shard), {shard});
    }
    for (int shard = 0; shard < shards; ++shard) {
      if (owner(shard) != r) continue;
      for (Rank from = 0; from < ranks; ++from) out.recv_reduce(from, {shard});
    }
  };
  const auto copy = [ranks, shards, owner](Rank r, int, Round& out) {
    for (int shard = 0; shard < shards; ++shard) {
      if (owner(shard) == r) {
        for (int i = 1; i < ranks; ++i) out.send((r + i) % ranks, {shard});
      } else {
        out.recv(owner(shard), {shard});
      }
    }
  };
  const Shape shape{ranks, shards, ranks == 1 ? 0 : 1};
  return {{"direct", shape, reduce}, {"direct", shape, copy}};
}

Phases direct_phases(int ranks) {
  return sharded_phases(ranks, ranks, [](int shard) { return shard; });
}

Schedule direct(int ranks) {
  const Phases phases = direct_phases(ranks);
  return sequence("direct", {phases.reduce_scatter, phases.all_gather});
}

}  // namespace collbench

#include "algorithms/reduce_to_one.h"

#include "core/error.h"

namespace collbench {

Schedule reduce_to_one(int ranks) {
  require(ranks >= 1, "reduce-to-one: ranks must be at least 1, not " + std::to_string(ranks));
  const auto play = [ranks](Rank rank, int, Round& out) {
    if (rank != 0) out.send(0, {0, 1});
    for (Rank peer = 1; rank == 0 && peer < ranks; ++peer) out.recv_reduce(peer, {0, 1});
  };
  return {"reduce-to-one", {.ranks = ranks, .chunks = 1, .rounds = ranks > 1 ? 1 : 0}, play};
}

}  // namespace collbench

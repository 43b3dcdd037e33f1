#include "algorithms/allreduce.h"

namespace collbench {

// Every rank sends its vector to all others and adds in rank order, so that all get the same bits.
Schedule one_shot(int ranks) {
  const auto play = [ranks](Rank r, int, Round& out) {
    for (int i = 1; i < ranks; ++i) out.send((r + i) % ranks, {0});
    for (Rank from = 0; from < ranks; ++from) out.recv_reduce(from, {0});
  };
  return {"one-shot", {ranks, 1, ranks == 1 ? 0 : 1}, play};
}

}  // namespace collbench

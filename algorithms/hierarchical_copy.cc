#include <algorithm>

#include "algorithms/allreduce.h"
#include "core/error.h"

namespace collbench {
namespace {

// Two groups of ranks, [0, floor(n/2)) and the rest. For each pack one rank of each group collects:
// `main`, which also adds the two sums, and `other`.
struct Collectors {
  int ranks;
  int half;
  Rank main;
  Rank other;

  // Pack i is collected by rank i mod n and by its counterpart half a machine away. With an odd
  // number of ranks the last rank has no counterpart and takes that of the one before it.
  Collectors(int n, int pack) : ranks(n), half(n / 2), main(pack % n), other(0) {
    other = main < half ? main + half : std::min(main - half, half - 1);
  }
  Rank collector(Rank r) const { return (r < half) == (main < half) ? main : other; }
};

void reduce_groups(const Collectors& at, Rank r, Chunks chunk, Round& out) {
  if (at.collector(r) != r) {
    out.send(at.collector(r), chunk);
    return;
  }
  const Rank begin = r < at.half ? 0 : at.half;
  const Rank end = r < at.half ? at.half : at.ranks;
  if (end - begin == 1) return;
  for (Rank from = begin; from < end; ++from) out.recv_reduce(from, chunk);
}

void copy_to_groups(const Collectors& at, Rank r, Chunks chunk, Round& out) {
  if (at.collector(r) != r) {
    out.recv(at.collector(r), chunk);
    return;
  }
  const Rank begin = r < at.half ? 0 : at.half;
  const Rank end = r < at.half ? at.half : at.ranks;
  for (Rank to = begin; to < end; ++to) {
    if (to != r) out.send(to, chunk);
  }
}

}  // namespace

// Four rounds per pack: each group's vectors to its collector, in rank order; the other collector's
// sum to the main one; the total back; the total to both groups.
Schedule hierarchical_copy(int ranks, int packs) {
  require(packs >= 1, "hierarchical-copy: packs must be at least 1, not " + std::to_string(packs));
  const auto play = [ranks, packs](Rank r, int t, Round& out) {
    for (int pack = 0; pack < packs; ++pack) {
      const Collectors at(ranks, pack);
      const Chunks chunk{pack};
      if (t == 0) reduce_groups(at, r, chunk, out);
      if (t == 1 && r == at.other) out.send(at.main, chunk);
      if (t == 1 && r == at.main) out.recv_reduce(at.other, chunk);
      if (t == 2 && r == at.main) out.send(at.other, chunk);
      if (t == 2 && r == at.other) out.recv(at.main, chunk);
      if (t == 3) copy_to_groups(at, r, chunk, out);
    }
  };
  return {"hierarchical-copy", {ranks, packs, ranks == 1 ? 0 : 4}, play};
}

}  // namespace collbench

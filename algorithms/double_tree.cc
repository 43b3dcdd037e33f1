#include "algorithms/allreduce.h"
#include "algorithms/tree.h"

namespace collbench {
namespace {

// The in-order binary tree over 0 .. n-1 with root 0: a rank whose lowest set bit is b hangs below
// the neighbour b places away that is a multiple of 2b but not of 4b, or, if that is beyond the
// last rank, b places before it. Odd ranks are leaves.
Rank in_order_parent(Rank r, int n) {
  if (r == 0) return -1;
  const int bit = r & -r;
  const int parent = (r ^ bit) | (bit << 1);
  return parent < n ? parent : r ^ bit;
}

}  // namespace

// The second tree is the first one mirrored (n even: leaves and inner ranks change places) or
// shifted by one rank (n odd). Each tree carries half of the vector, so that the ranks that are
// busy inside one tree are mostly leaves of the other, and all links are used about equally.
std::vector<std::vector<Rank>> double_tree_parents(int ranks) {
  std::vector<std::vector<Rank>> trees(2);
  for (Rank r = 0; r < ranks; ++r) {
    trees[0].push_back(in_order_parent(r, ranks));
    const Rank image = ranks % 2 == 0 ? ranks - 1 - r : (r + ranks - 1) % ranks;
    const Rank parent = in_order_parent(image, ranks);
    const Rank back = ranks % 2 == 0 ? ranks - 1 - parent : (parent + 1) % ranks;
    trees[1].push_back(parent < 0 ? -1 : back);
  }
  return trees;
}

Schedule double_tree(int ranks, int segments) {
  return tree_all_reduce("double-tree", double_tree_parents(ranks), segments);
}

}  // namespace collbench

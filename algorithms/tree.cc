#include "algorithms/tree.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"

namespace collbench {

Schedule tree_all_reduce(const std::vector<Rank>& parents) {
  struct Tree {
    std::vector<Rank> parent;
    std::vector<std::vector<Rank>> children;
    std::vector<int> depth;
  };
  const int n = static_cast<int>(parents.size());
  auto tree = std::make_shared<Tree>();
  tree->parent = parents;
  tree->children.resize(parents.size());
  for (Rank r = 0; r < n; ++r) {
    int depth = 0;
    for (Rank at = r; parents[at] >= 0; at = parents[at]) ++depth;
    tree->depth.push_back(depth);
    if (parents[r] >= 0) tree->children[parents[r]].push_back(r);
  }
  const int height = *std::max_element(tree->depth.begin(), tree->depth.end());
  // Depth d sends up in round height - d: when its children's sums, one round earlier, are in.
  const auto reduce = [tree, height](Rank r, int t, Round& out) {
    if (t == height - tree->depth[r]) out.send(tree->parent[r], {0});
    if (t == height - tree->depth[r] - 1) {
      for (const Rank child : tree->children[r]) out.recv_reduce(child, {0});
    }
  };
  const Schedule up("tree", {n, 1, height}, reduce);
  return sequence("tree", {up, mirrored(up)});
}

Schedule tree(int ranks, int segments) {
  std::vector<Rank> parents{-1};
  for (Rank r = 1; r < ranks; ++r) parents.push_back((r - 1) / 2);
  return pipelined(tree_all_reduce(parents), segments);
}

}  // namespace collbench

// What tree_packing.h declares and needs no packer: trees of the fewest hops, and what trees load.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/tree_packing.h"
#include "heuristics/synthesis/tree_pricing.h"

namespace collbench {

TreePacking shallow_trees(const Topology& topology, CollectiveKind goal) {
  const RankPaths paths(topology);
  const int ranks = paths.ranks();
  TreePacking packing{goal, ranks, {}, 0};
  int least = std::numeric_limits<int>::max();
  for (Rank root = 0; root < ranks; ++root) {
    // Fewest hops from the root, and to it.
    const auto parents_of = [&](bool away) {
      std::vector<Rank> parents(ranks, -1);
      std::vector<Rank> order{root};
      for (std::size_t i = 0; i < order.size(); ++i) {
        for (Rank r = 0; r < ranks; ++r) {
          const auto links = away ? paths.links(order[i], r) : paths.links(r, order[i]);
          if (r == root || parents[r] >= 0 || links.empty()) continue;
          parents[r] = order[i];
          order.push_back(r);
        }
      }
      require(static_cast<int>(order.size()) == ranks,
              fmt::format("{}: no tree of ranks: some reach each other only through others that "
                          "cannot be reached",
                          topology.name()));
      return parents;
    };
    PackedTree tree{root, 1, {}, {}};
    if (goal != CollectiveKind::all_gather) tree.reduce = parents_of(false);
    if (goal != CollectiveKind::reduce_scatter) tree.broadcast = parents_of(true);
    if (goal != CollectiveKind::all_reduce) {
      tree.weight = 1.0 / ranks;
      packing.trees.push_back(std::move(tree));
      continue;
    }
    const int way = way_of(tree);
    if (way >= least) continue;
    least = way;
    packing.trees.assign(1, std::move(tree));
  }
  packing.seconds_per_byte = seconds_per_byte(topology, packing.trees);
  return packing;
}

std::vector<double> link_loads(const Topology& topology, const std::vector<PackedTree>& trees) {
  const RankPaths paths(topology);
  std::vector<double> load(topology.links().size(), 0);
  for (const PackedTree& tree : trees) {
    for (const auto& [link, count] : loads_of(paths, tree)) load[link] += count * tree.weight;
  }
  return load;
}

double seconds_per_byte(const Topology& topology, const std::vector<PackedTree>& trees) {
  const std::vector<double> load = link_loads(topology, trees);
  double most = 0;
  for (std::size_t l = 0; l < load.size(); ++l) {
    most = std::max(most, load[l] / topology.capacity(static_cast<LinkId>(l)));
  }
  return most;
}

}  // namespace collbench

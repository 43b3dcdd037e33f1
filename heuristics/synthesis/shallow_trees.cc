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
namespace {

/// Takes of equally short ways those that trees before load least, sums and copies apart: they
/// cross links at different times.
class ShallowTrees {
 public:
  explicit ShallowTrees(const Topology& topology) : topology_(topology), paths_(topology) {
    for (std::vector<double>& load : load_) load.assign(topology.links().size(), 0);
  }

  /// Parents in a tree whose edges lead away from the root, or else to it.
  std::vector<Rank> parents_of(Rank root, bool away) {
    const int ranks = paths_.ranks();
    std::vector<Rank> parents(static_cast<std::size_t>(ranks), -1);
    int reached = 1;
    for (std::vector<Rank> level{root}; !level.empty();) {
      std::vector<Rank> next;
      for (Rank r = 0; r < ranks; ++r) {
        if (r == root || parents[r] >= 0) continue;
        const Rank parent = least_full(level, r, away);
        if (parent >= 0) next.push_back(r);
        parents[r] = parent;
      }
      reached += static_cast<int>(next.size());
      level = std::move(next);
    }
    if (reached != ranks) refuse_no_tree(topology_);
    return parents;
  }

 private:
  /// Of `parents` that by which the fullest link on the way is least full, which then has one more
  /// tree to carry; -1 if there is no way.
  Rank least_full(const std::vector<Rank>& parents, Rank child, bool away) {
    std::vector<double>& carried = load_[away ? 1 : 0];
    Rank best = -1;
    double least = std::numeric_limits<double>::infinity();
    const auto way = [&](Rank parent) {
      return away ? paths_.links(parent, child) : paths_.links(child, parent);
    };
    for (const Rank parent : parents) {
      const auto links = way(parent);
      double most = 0;
      for (const LinkId link : links) {
        most = std::max(most, (carried[link] + 1) / topology_.capacity(link));
      }
      if (links.empty() || most >= least) continue;
      least = most;
      best = parent;
    }
    if (best >= 0) {
      for (const LinkId link : way(best)) carried[link] += 1;
    }
    return best;
  }

  const Topology& topology_;
  RankPaths paths_;
  std::vector<double> load_[2];  // trees over each link so far: of sums, and of copies
};

}  // namespace

std::vector<bool> late_edges(const PackedTree& tree, const std::vector<Rank>& late) {
  std::vector<bool> is_late(tree.reduce.size(), tree.waits);
  for (const Rank rank : late) {
    for (Rank at = rank; at >= 0 && !is_late[at]; at = tree.reduce[at]) is_late[at] = true;
  }
  return is_late;
}

int way_of(const PackedTree& tree) { return depth_of(tree.reduce) + depth_of(tree.broadcast); }

PackedTree tree_along(CollectiveKind goal, std::vector<Rank> parents, double weight) {
  PackedTree tree{top_of(parents), weight, {}, {}};
  if (goal != CollectiveKind::all_gather) tree.reduce = parents;
  if (goal != CollectiveKind::reduce_scatter) tree.broadcast = std::move(parents);
  return tree;
}

void refuse_no_tree(const Topology& topology) {
  throw InvalidArgument(
      fmt::format("{}: no tree of ranks: some reach each other only through others that cannot be "
                  "reached",
                  topology.name()));
}

TreePacking shallow_trees(const Topology& topology, CollectiveKind goal) {
  ShallowTrees trees(topology);
  const int ranks = topology.hosts();
  TreePacking packing{goal, ranks, {}, 0};
  for (Rank root = 0; root < ranks; ++root) {
    PackedTree& tree = packing.trees.emplace_back();
    tree.root = root;
    tree.weight = 1.0 / ranks;
    if (goal != CollectiveKind::all_gather) tree.reduce = trees.parents_of(root, false);
    if (goal != CollectiveKind::reduce_scatter) tree.broadcast = trees.parents_of(root, true);
  }
  packing.seconds_per_byte = seconds_per_byte(topology, packing.trees);
  return packing;
}

TreePacking shallowest_alone(const Topology& topology, const TreePacking& packing) {
  TreePacking alone{packing.goal, packing.ranks, {}, 0};
  alone.trees.push_back(*std::ranges::min_element(packing.trees, {}, way_of));
  alone.trees.front().weight = 1;
  alone.seconds_per_byte = seconds_per_byte(topology, alone.trees);
  return alone;
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

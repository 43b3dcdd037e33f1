#include "heuristics/synthesis/middle_trees.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "heuristics/synthesis/capacity_graph.h"
#include "heuristics/synthesis/max_flow.h"
#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/shifts.h"

namespace collbench {
namespace {

/// Ranks, and cables between them, of which shifts make all others.
class MiddlePacker {
 public:
  explicit MiddlePacker(const Topology& topology) : ranks_(topology.hosts()) {
    const RankPaths paths(topology);
    shifts_ = shifts_of(topology, paths);
    neighbours_.resize(ranks_);
    std::map<std::pair<Rank, Rank>, int> orbit_of;
    for (Rank a = 0; a < ranks_; ++a) {
      for (Rank b = 0; b < ranks_; ++b) {
        if (a == b || paths.links(a, b).size() != 1) continue;
        const auto known = orbit_of.find(std::minmax(a, b));
        int orbit = known == orbit_of.end() ? -1 : known->second;
        if (orbit < 0) {
          orbit = static_cast<int>(room_.size());
          std::set<std::pair<Rank, Rank>> cables;
          for (const std::vector<Rank>& image : shifts_) {
            cables.insert(std::minmax({image[a], image[b]}));
          }
          for (const auto& cable : cables) orbit_of[cable] = orbit;
          room_.push_back(topology.capacity(paths.links(a, b).front()) *
                          static_cast<double>(cables.size()));
        }
        neighbours_[b].emplace_back(a, orbit);
      }
    }
    find_roots();
  }

  int images() const { return static_cast<int>(shifts_.size()); }

  /// `count` trees and all their images, whose fullest link takes no longer than `seconds` a byte,
  /// from roots that are so many hops at most from the farthest rank; empty if there are none.
  std::vector<PackedTree> pack(int count, double seconds, int most_hops) const {
    std::vector<int> trees_of(roots_.size(), 0);  // by root
    const auto taken = std::ranges::upper_bound(roots_, most_hops, {}, &Root::hops);
    for (int i = 0; i < count; ++i) {
      ++trees_of[static_cast<std::size_t>(i * (taken - roots_.begin()) / count)];
    }
    std::vector<std::vector<std::vector<Rank>>> parents(roots_.size());
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      parents[i].assign(trees_of[i], std::vector<Rank>(ranks_, -1));
    }
    for (const auto& [root, child, parent, trees] : choices(trees_of, count, seconds)) {
      auto tree = std::ranges::find_if(
          parents[root], [r = child](const std::vector<Rank>& some) { return some[r] < 0; });
      for (int given = 0; given < trees; ++given) (*tree++)[child] = parent;
    }
    std::vector<PackedTree> packed;
    for (const auto& of_root : parents) {
      for (const std::vector<Rank>& tree : of_root) {
        if (std::ranges::count(tree, -1) > 1) return {};  // nothing was chosen
        for (const std::vector<Rank>& image : shifts_) {
          packed.push_back(tree_along(CollectiveKind::all_reduce, image_of(tree, image),
                                      1.0 / (static_cast<double>(count) * images())));
        }
      }
    }
    std::ranges::stable_sort(packed, {}, &PackedTree::root);
    return packed;
  }

  /// Whether whole trees can fill the cables so well at all.
  bool has_room(int count, double seconds) const {
    std::int64_t all = 0;
    for (std::size_t o = 0; o < room_.size(); ++o) all += whole_trees(o, count * seconds);
    return all >= std::int64_t{count} * (ranks_ - 1);
  }

  /// From each rank that may be a root to the farthest, ascending; empty if some cannot be reached.
  std::vector<int> distances() const {
    std::vector<int> hops;
    for (const Root& root : roots_) hops.push_back(root.hops);
    hops.erase(std::unique(hops.begin(), hops.end()), hops.end());
    return hops;
  }

 private:
  struct Root {
    Rank rank;
    int hops;                // to the farthest rank
    std::vector<int> depth;  // by rank
  };

  struct Choice {
    std::size_t root;
    Rank child;
    Rank parent;
    int trees;  // of the root's, in which the child hangs from that parent
  };

  /// Of all trees; none if links cannot carry `count` trees in so many seconds a byte of each.
  std::vector<Choice> choices(const std::vector<int>& trees_of, int count, double seconds) const {
    constexpr int source = 0;
    constexpr int sink = 1;
    constexpr int first_orbit = 2;
    const int orbits = static_cast<int>(room_.size());
    const std::int64_t wanted = std::int64_t{count} * (ranks_ - 1);
    int vertex = first_orbit + orbits;
    MaxFlow<std::int64_t> flow(vertex + static_cast<int>(wanted));
    for (int o = 0; o < orbits; ++o) {
      flow.set_capacity(flow.add_arc(first_orbit + o, sink), whole_trees(o, count * seconds));
    }
    std::vector<Choice> made;
    std::vector<int> arcs;  // of each choice
    for (std::size_t i = 0; i < roots_.size(); ++i) {
      const std::vector<int>& depth = roots_[i].depth;
      for (Rank child = 0; child < ranks_ && trees_of[i] > 0; ++child) {
        if (child == roots_[i].rank) continue;
        flow.set_capacity(flow.add_arc(source, vertex), trees_of[i]);
        for (const auto& [parent, orbit] : neighbours_[child]) {
          if (depth[parent] != depth[child] - 1) continue;
          arcs.push_back(flow.add_arc(vertex, first_orbit + orbit));
          flow.set_capacity(arcs.back(), trees_of[i]);
          made.push_back({i, child, parent, 0});
        }
        ++vertex;
      }
    }
    if (flow.solve(source, sink, wanted) < wanted) return {};
    for (std::size_t c = 0; c < made.size(); ++c) {
      made[c].trees = static_cast<int>(flow.flow(arcs[c]));
    }
    return made;
  }

  std::int64_t whole_trees(std::size_t orbit, double seconds) const {
    return static_cast<std::int64_t>(room_[orbit] * seconds * (1 + 1e-9));
  }

  /// Of the ranks that are images of each other the first.
  void find_roots() {
    for (Rank rank = 0; rank < ranks_; ++rank) {
      const auto comes_before = [rank](const std::vector<Rank>& image) {
        return image[rank] < rank;
      };
      if (std::ranges::any_of(shifts_, comes_before)) continue;
      std::vector<int> depth(ranks_, -1);
      depth[rank] = 0;
      std::vector<Rank> reached{rank};
      for (std::size_t i = 0; i < reached.size(); ++i) {
        for (const auto& [next, orbit] : neighbours_[reached[i]]) {
          if (depth[next] >= 0) continue;
          depth[next] = depth[reached[i]] + 1;
          reached.push_back(next);
        }
      }
      if (std::ssize(reached) < ranks_) return;
      const int hops = depth[reached.back()];
      roots_.push_back({rank, hops, std::move(depth)});
    }
    std::ranges::stable_sort(roots_, {}, &Root::hops);
  }

  int ranks_;
  std::vector<std::vector<Rank>> shifts_;
  std::vector<std::vector<std::pair<Rank, int>>> neighbours_;  // and the orbits of their cables
  std::vector<double> room_;  // by orbit: bytes per second of one direction of all its cables
  std::vector<Root> roots_;   // by hops
};

}  // namespace

TreePacking middle_trees(const Topology& topology, double target, double tolerance) {
  constexpr int most_ranks = 1024;
  constexpr int most_trees = 512;
  constexpr std::int64_t most_tried = 4'000'000;  // ranks of trees, in a second or two
  const TreePacking none{CollectiveKind::all_reduce, topology.hosts(), {}, 0};
  const bool has_switches = topology.vertices() > topology.hosts();
  if (topology.hosts() > most_ranks || has_switches ||
      !capacity_graph(topology).is_bidirectional()) {
    return none;
  }
  const MiddlePacker packer(topology);
  const std::vector<int> distances = packer.distances();
  const double enough = target * (1 + tolerance);
  std::int64_t tried = 0;
  for (int count = 1; count * packer.images() <= most_trees; ++count) {
    if (!packer.has_room(count, enough)) continue;
    for (const int hops : distances) {
      tried += std::int64_t{count} * topology.hosts();
      if (tried > most_tried) return none;
      TreePacking packing = none;
      packing.trees = packer.pack(count, enough, hops);
      if (packing.trees.empty()) continue;
      packing.seconds_per_byte = seconds_per_byte(topology, packing.trees);
      if (packing.seconds_per_byte <= enough) return packing;
    }
  }
  return none;
}

}  // namespace collbench

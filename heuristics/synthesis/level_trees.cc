#include "heuristics/synthesis/level_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "heuristics/synthesis/max_flow.h"

namespace collbench {
namespace {

/// The kinds of links, and how many hops each rank is from rank 0.
class LevelDealer {
 public:
  LevelDealer(const Topology& topology, const RankPaths& paths,
              const std::vector<std::vector<Rank>>& shifts)
      : depth_(shifts.size(), -1) {
    const auto ranks = static_cast<Rank>(shifts.size());
    for (Rank peer = 1; peer < ranks; ++peer) {
      const auto links = paths.links(0, peer);
      if (links.size() != 1) continue;
      Kind& kind = kinds_.emplace_back();
      kind.capacity = topology.capacity(links.front());
      kind.to.resize(shifts.size());
      kind.from.resize(shifts.size());
      for (Rank from = 0; from < ranks; ++from) {
        kind.to[from] = shifts[from][peer];
        kind.from[kind.to[from]] = from;
      }
    }
    depth_[0] = 0;
    for (std::vector<Rank> level{0}; !level.empty();) {
      std::vector<Rank> next;
      for (const Rank from : level) {
        for (const Kind& kind : kinds_) {
          int& depth = depth_[kind.to[from]];
          if (depth >= 0) continue;
          depth = depth_[from] + 1;
          next.push_back(kind.to[from]);
        }
      }
      levels_.push_back(std::exchange(level, std::move(next)));
    }
  }

  bool reaches_all() const { return std::ranges::count(depth_, -1) == 0; }

  /// Parents of so many trees of rank 0, and the time of their rounds for a byte of each.
  std::pair<std::vector<std::vector<Rank>>, double> deal(int trees) const {
    std::vector<std::vector<Rank>> parents(static_cast<std::size_t>(trees),
                                           std::vector<Rank>(depth_.size(), -1));
    double seconds = 0;
    for (std::size_t level = 1; level < levels_.size(); ++level) {
      seconds += deal_level(levels_[level], parents);
    }
    return {std::move(parents), seconds};
  }

 private:
  /// The images of a link of rank 0: one leaves every rank, and one enters it.
  struct Kind {
    double capacity = 0;
    std::vector<Rank> to;    // by the rank that it leaves
    std::vector<Rank> from;  // by the rank that it enters
  };

  double deal_level(const std::vector<Rank>& level, std::vector<std::vector<Rank>>& parents) const {
    const auto trees = static_cast<std::int64_t>(parents.size());
    const int first_kind = 2 + static_cast<int>(level.size());
    constexpr int source = 0;
    constexpr int sink = 1;
    MaxFlow<std::int64_t> flow(first_kind + static_cast<int>(kinds_.size()));
    struct Choice {
      std::size_t rank;  // of the level
      Rank parent;
      int arc;
    };
    std::vector<Choice> choices;
    for (std::size_t i = 0; i < level.size(); ++i) {
      const int vertex = 2 + static_cast<int>(i);
      flow.set_capacity(flow.add_arc(source, vertex), trees);
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        const Rank parent = kinds_[k].from[level[i]];
        if (depth_[parent] != depth_[level[i]] - 1) continue;
        choices.push_back({i, parent, flow.add_arc(vertex, first_kind + static_cast<int>(k))});
        flow.set_capacity(choices.back().arc, trees);
      }
    }
    std::vector<int> out;
    double all = 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      out.push_back(flow.add_arc(first_kind + static_cast<int>(k), sink));
      all += kinds_[k].capacity;
    }
    // The next number of trees that some kind can carry, until all have room.
    const std::int64_t wanted = trees * std::ssize(level);
    double seconds = static_cast<double>(wanted) / all;
    for (;;) {
      double next = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        const double room = std::floor(seconds * kinds_[k].capacity * (1 + 1e-9));
        flow.set_capacity(out[k], static_cast<std::int64_t>(room));
        next = std::min(next, (room + 1) / kinds_[k].capacity);
      }
      if (flow.solve(source, sink, wanted) == wanted) break;
      seconds = next;
    }
    std::vector<std::size_t> given(level.size(), 0);
    for (const Choice& choice : choices) {
      for (std::int64_t i = flow.flow(choice.arc); i > 0; --i) {
        parents[given[choice.rank]++][level[choice.rank]] = choice.parent;
      }
    }
    return seconds;
  }

  std::vector<Kind> kinds_;
  std::vector<int> depth_;  // hops from rank 0
  std::vector<std::vector<Rank>> levels_;
};

}  // namespace

TreePacking level_trees(const Topology& topology, CollectiveKind goal, const RankPaths& paths,
                        const std::vector<std::vector<Rank>>& shifts, double target,
                        double tolerance) {
  constexpr int most_trees = 16;  // of a root
  const int ranks = paths.ranks();
  TreePacking packing{goal, ranks, {}, 0};
  const LevelDealer dealer(topology, paths, shifts);
  if (!dealer.reaches_all()) return packing;
  const int halves = goal == CollectiveKind::all_reduce ? 2 : 1;
  for (int trees = 1; trees <= most_trees; ++trees) {
    const auto [parents, seconds] = dealer.deal(trees);
    if (seconds * halves > target * trees * ranks * (1 + tolerance)) continue;
    for (const std::vector<Rank>& shift : shifts) {
      for (const std::vector<Rank>& of_first : parents) {
        std::vector<Rank> moved(of_first.size(), -1);
        for (Rank r = 1; r < ranks; ++r) moved[shift[r]] = shift[of_first[r]];
        PackedTree& tree = packing.trees.emplace_back();
        tree.root = shift[0];
        tree.weight = 1.0 / (static_cast<double>(trees) * ranks);
        if (goal != CollectiveKind::all_gather) tree.reduce = moved;
        if (goal != CollectiveKind::reduce_scatter) tree.broadcast = std::move(moved);
      }
    }
    packing.seconds_per_byte = seconds_per_byte(topology, packing.trees);
    break;
  }
  return packing;
}

}  // namespace collbench

#include "heuristics/synthesis/tree_packing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/synthesis/capacity_graph.h"
#include "heuristics/synthesis/linear_program.h"
#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/spanning_trees.h"

namespace collbench {
namespace {

constexpr double least_weight = 1e-7;  // of the vector: rounding of the program
constexpr int most_iterations = 3000;
constexpr int most_own_trees = 24;  // ranks, of all-gather and reduce-scatter
// How much of the prices at which trees are asked for is the linear program's; the rest is that of
// the best bound so far.
constexpr double blends[] = {0.2, 0.5, 1.0};

using TreeLoads = std::vector<std::pair<LinkId, double>>;  // messages over each link

TreeLoads loads_of(const RankPaths& paths, const PackedTree& tree) {
  std::vector<LinkId> used;
  const auto use = [&](Rank from, Rank to) {
    const auto links = paths.links(from, to);
    used.insert(used.end(), links.begin(), links.end());
  };
  for (Rank r = 0; r < paths.ranks(); ++r) {
    if (r == tree.root) continue;
    if (!tree.broadcast.empty()) use(tree.broadcast[r], r);
    if (!tree.reduce.empty()) use(r, tree.reduce[r]);
  }
  std::sort(used.begin(), used.end());
  TreeLoads loads;
  for (const LinkId link : used) {
    if (loads.empty() || loads.back().first != link) loads.emplace_back(link, 0);
    loads.back().second += 1;
  }
  return loads;
}

/// The same tree with another root.
std::vector<Rank> with_root(std::vector<Rank> parents, Rank root) {
  Rank above = -1;
  for (Rank at = root; at >= 0;) {
    const Rank next = std::exchange(parents[at], above);
    above = at;
    at = next;
  }
  return parents;
}

/// How many ranks lie below each, itself included.
std::vector<int> subtree_sizes(const std::vector<Rank>& parents) {
  std::vector<int> size(parents.size(), 0);
  for (std::size_t r = 0; r < parents.size(); ++r) {
    for (Rank at = static_cast<Rank>(r); at >= 0; at = parents[at]) ++size[at];
  }
  return size;
}

class Packer {
 public:
  Packer(const Topology& topology, CollectiveKind goal)
      : topology_(topology),
        goal_(goal),
        ranks_(topology.hosts()),
        paths_(topology),
        is_bidirectional_(capacity_graph(topology).is_bidirectional()) {
    for (std::size_t l = 0; l < topology.links().size(); ++l) {
      capacity_.push_back(topology.capacity(static_cast<LinkId>(l)));
      total_ += capacity_.back();
    }
    for (double& capacity : capacity_) capacity /= total_;
  }

  TreePacking pack(double target, double tolerance) {
    // Prices at which a link costs as much as all its capacity does of all: cost is then a bound.
    std::vector<double> center(capacity_.size(), 1);
    double bound = price(center);
    LinearProgram program = first_program();
    add_rows(program, 0);
    for (int i = 0; i < most_iterations; ++i) {
      program.solve();
      const double time = program.gain();
      if (time <= std::max(target * total_, bound) * (1 + tolerance)) break;
      const std::size_t known = columns_.size();
      const auto first_price = program.values().begin() + roots();
      for (const double blend : blends) {
        std::vector<double> prices(center.size());
        for (std::size_t l = 0; l < prices.size(); ++l) {
          prices[l] =
              blend * *(first_price + static_cast<std::ptrdiff_t>(l)) + (1 - blend) * center[l];
        }
        if (shares_trees()) make_even(prices);
        const double cost = price(prices);
        if (cost <= bound) continue;
        bound = cost;
        center = std::move(prices);
      }
      if (columns_.size() == known) break;
      add_rows(program, known);
      program.drop_slack_rows(30);
    }
    program.solve();
    return packing(program);
  }

 private:
  /// Equal roots may share their trees, which makes the program small: a tree then loads both
  /// directions of an edge by the ranks on either side. It loses where links are not alike in both
  /// directions, so few ranks have trees of their own.
  bool shares_trees() const {
    return goal_ != CollectiveKind::all_reduce && is_bidirectional_ && ranks_ > most_own_trees;
  }
  bool has_equal_roots() const { return goal_ != CollectiveKind::all_reduce && !shares_trees(); }
  int roots() const { return has_equal_roots() ? ranks_ : 1; }

  PairCosts pair_costs(const std::vector<double>& prices) const {
    PairCosts costs{ranks_, std::vector<double>(static_cast<std::size_t>(ranks_) * ranks_,
                                                std::numeric_limits<double>::infinity())};
    for (Rank from = 0; from < ranks_; ++from) {
      for (Rank to = 0; to < ranks_; ++to) {
        const auto links = paths_.links(from, to);
        if (links.empty()) continue;
        double cost = 0;
        for (const LinkId link : links) cost += prices[link];
        costs.at(from, to) = cost;
      }
    }
    return costs;
  }

  double cost_of(const PackedTree& tree, const PairCosts& costs) const {
    double cost = 0;
    for (Rank r = 0; r < ranks_; ++r) {
      if (r == tree.root) continue;
      if (!tree.broadcast.empty()) cost += costs.at(tree.broadcast[r], r);
      if (!tree.reduce.empty()) cost += costs.at(r, tree.reduce[r]);
    }
    require(std::isfinite(cost),
            fmt::format("{}: no tree of ranks: some reach each other only through others that "
                        "cannot be reached",
                        topology_.name()));
    return cost;
  }

  /// Adds the cheapest trees to the columns; returns the time that these prices prove no packing
  /// can beat.
  double price(const std::vector<double>& prices) {
    const PairCosts costs = pair_costs(prices);
    if (is_bidirectional_ && !has_equal_roots()) {
      PackedTree tree;
      tree.broadcast = cheapest_spanning_tree(costs);
      tree.reduce = tree.broadcast;
      tree.root = root_of(tree.broadcast);
      // Of a shared tree the directions of an edge add up to one message.
      return keep(std::move(tree), costs) * (shares_trees() ? 0.5 : 1);
    }
    PairCosts turned = costs;
    for (Rank a = 0; a < ranks_; ++a) {
      for (Rank b = 0; b < ranks_; ++b) turned.at(a, b) = costs.at(b, a);
    }
    double sum = 0;
    double least = std::numeric_limits<double>::infinity();
    for (Rank root = 0; root < ranks_; ++root) {
      PackedTree tree;
      tree.root = root;
      if (goal_ != CollectiveKind::reduce_scatter) {
        tree.broadcast = cheapest_arborescence(costs, root);
      }
      if (goal_ != CollectiveKind::all_gather) tree.reduce = cheapest_arborescence(turned, root);
      const double cost = keep(std::move(tree), costs);
      sum += cost;
      least = std::min(least, cost);
    }
    return has_equal_roots() ? sum / ranks_ : least;
  }

  static Rank root_of(const std::vector<Rank>& parents) {
    return static_cast<Rank>(std::find(parents.begin(), parents.end(), -1) - parents.begin());
  }

  double keep(PackedTree tree, const PairCosts& costs) {
    const double cost = cost_of(tree, costs);
    std::vector<Rank> key{has_equal_roots() || !is_bidirectional_ ? tree.root : 0};
    TreeLoads flat = shares_trees() ? shared_loads(tree.broadcast) : loads_of(paths_, tree);
    if (known_.emplace(std::pair{key.front(), flat}, columns_.size()).second) {
      columns_.push_back(std::move(tree));
      loads_.push_back(std::move(flat));
    }
    return cost;
  }

  /// The mean of both directions.
  void make_even(std::vector<double>& prices) const {
    std::map<std::pair<Vertex, Vertex>, std::pair<double, int>> sums;
    const auto key = [](const Link& link) { return std::minmax(link.from, link.to); };
    for (std::size_t l = 0; l < prices.size(); ++l) {
      auto& [sum, count] = sums[key(topology_.links()[l])];
      sum += prices[l];
      ++count;
    }
    for (std::size_t l = 0; l < prices.size(); ++l) {
      const auto& [sum, count] = sums[key(topology_.links()[l])];
      prices[l] = sum / count;
    }
  }

  TreeLoads shared_loads(const std::vector<Rank>& parents) const {
    const std::vector<int> size = subtree_sizes(parents);
    std::map<LinkId, double> loads;
    for (Rank r = 0; r < ranks_; ++r) {
      if (parents[r] < 0) continue;
      const double from_below = static_cast<double>(size[r]) / ranks_;
      const bool gathers = goal_ == CollectiveKind::all_gather;
      const double up = gathers ? from_below : 1 - from_below;
      for (const LinkId link : paths_.links(r, parents[r])) loads[link] += up;
      for (const LinkId link : paths_.links(parents[r], r)) loads[link] += 1 - up;
    }
    return {loads.begin(), loads.end()};
  }

  /// Every shared tree once for each root.
  std::vector<PackedTree> of_all_roots(const std::vector<PackedTree>& shared) const {
    std::vector<PackedTree> trees;
    for (Rank root = 0; root < ranks_; ++root) {
      for (const PackedTree& tree : shared) {
        PackedTree& own = trees.emplace_back();
        own.root = root;
        own.weight = tree.weight / ranks_;
        const bool gathers = goal_ == CollectiveKind::all_gather;
        (gathers ? own.broadcast : own.reduce) = with_root(tree.broadcast, root);
      }
    }
    return trees;
  }

  LinearProgram first_program() const {
    std::vector<double> gains(static_cast<std::size_t>(roots()) + capacity_.size(), 0);
    std::fill_n(gains.begin(), roots(), 1.0 / roots());
    // What the first trees take, equally weighted.
    std::vector<double> load(capacity_.size(), 0);
    for (const TreeLoads& loads : loads_) {
      for (const auto& [link, messages] : loads) load[link] += messages;
    }
    double most = 0;
    for (std::size_t l = 0; l < load.size(); ++l) most = std::max(most, load[l] / capacity_[l]);
    // A little more, so that it does not bind: the weights are the prices of the trees' rows.
    LinearProgram program(std::move(gains), 1.01 * (has_equal_roots() ? most / roots() : most));
    LinearRow row{{}, 1};
    for (std::size_t l = 0; l < capacity_.size(); ++l) {
      row.terms.emplace_back(roots() + static_cast<int>(l), capacity_[l]);
    }
    program.add(row, true);
    return program;
  }

  void add_rows(LinearProgram& program, std::size_t from) {
    for (std::size_t c = from; c < columns_.size(); ++c) {
      LinearRow row{{{has_equal_roots() ? columns_[c].root : 0, 1}}, 0};
      for (const auto& [link, messages] : loads_[c]) {
        row.terms.emplace_back(roots() + link, -messages);
      }
      program.add(row, false);
    }
  }

  TreePacking packing(const LinearProgram& program) const {
    TreePacking packed{goal_, ranks_, {}, 0};
    std::vector<double> of_root(static_cast<std::size_t>(roots()), 0);
    for (const auto& [row, weight] : program.prices()) {
      if (row == 0 || weight < least_weight) continue;  // row 0 scales the prices
      packed.trees.push_back(columns_[static_cast<std::size_t>(row) - 1]);
      packed.trees.back().weight = weight;
      of_root[has_equal_roots() ? packed.trees.back().root : 0] += weight;
    }
    for (PackedTree& tree : packed.trees) {
      tree.weight /= roots() * of_root[has_equal_roots() ? tree.root : 0];
    }
    if (shares_trees()) packed.trees = of_all_roots(packed.trees);
    std::stable_sort(packed.trees.begin(), packed.trees.end(),
                     [](const PackedTree& a, const PackedTree& b) { return a.root < b.root; });
    packed.seconds_per_byte = seconds_per_byte(topology_, packed.trees);
    return packed;
  }

  const Topology& topology_;
  CollectiveKind goal_;
  int ranks_;
  RankPaths paths_;
  bool is_bidirectional_;
  std::vector<double> capacity_;  // of each link, as a share of total_
  double total_ = 0;              // bytes per second
  std::vector<PackedTree> columns_;
  std::vector<TreeLoads> loads_;
  std::map<std::pair<Rank, TreeLoads>, std::size_t> known_;
};

}  // namespace

TreePacking pack_trees(const Topology& topology, CollectiveKind goal, double target,
                       double tolerance) {
  require(!has_root(goal) && topology.hosts() >= 2,
          "trees are packed for all-reduce, reduce-scatter and all-gather of at least 2 ranks");
  return Packer(topology, goal).pack(target, tolerance);
}

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
    const std::vector<int> up = depths(tree.reduce);
    const std::vector<int> down = depths(tree.broadcast);
    const int way =
        *std::max_element(up.begin(), up.end()) + *std::max_element(down.begin(), down.end());
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

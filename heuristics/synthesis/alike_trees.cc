#include "heuristics/synthesis/alike_trees.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "heuristics/synthesis/capacity_graph.h"
#include "heuristics/synthesis/linear_program.h"
#include "heuristics/synthesis/pipelining.h"
#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/shifts.h"
#include "heuristics/synthesis/spanning_trees.h"

namespace collbench {
namespace {

/// Vertices of one number have as many links of each capacity to those of every number.
std::vector<int> alike_vertices(const Topology& topology) {
  std::vector<int> number(topology.vertices());
  for (Vertex v = 0; v < topology.vertices(); ++v) number[v] = v < topology.hosts() ? 0 : 1;
  using Sight =
      std::vector<std::tuple<int, double, bool>>;  // neighbours, and whether they are behind
  for (std::size_t known = 0;;) {
    std::vector<Sight> sights(number.size());
    for (std::size_t l = 0; l < topology.links().size(); ++l) {
      const Link& link = topology.links()[l];
      const double capacity = topology.capacity(static_cast<LinkId>(l));
      sights[link.from].emplace_back(number[link.to], capacity, false);
      sights[link.to].emplace_back(number[link.from], capacity, true);
    }
    std::map<std::pair<int, Sight>, int> numbers;
    for (std::size_t v = 0; v < number.size(); ++v) {
      std::sort(sights[v].begin(), sights[v].end());
      const auto next = static_cast<int>(numbers.size());
      number[v] = numbers.emplace(std::pair{number[v], sights[v]}, next).first->second;
    }
    if (numbers.size() == known) return number;
    known = numbers.size();
  }
}

constexpr double no_tie = 1e-12;  // added to costs, so that no tie is between nothing and nothing

class AlikePacker {
 public:
  AlikePacker(const Topology& topology, CollectiveKind goal)
      : topology_(topology), goal_(goal), paths_(topology) {
    const std::vector<int> number = alike_vertices(topology);
    std::map<std::tuple<int, int, double>, int> classes;
    for (std::size_t l = 0; l < topology.links().size(); ++l) {
      const Link& link = topology.links()[l];
      const double capacity = topology.capacity(static_cast<LinkId>(l));
      // Both directions of a cable are alike for a tree that is walked up and down.
      const auto [a, b] = std::minmax(number[link.from], number[link.to]);
      const auto next = static_cast<int>(classes.size());
      class_of_.push_back(classes.emplace(std::tuple{a, b, capacity}, next).first->second);
      total_ += capacity;
    }
    capacity_.assign(classes.size(), 0);
    for (std::size_t l = 0; l < class_of_.size(); ++l) {
      capacity_[class_of_[l]] += topology.capacity(static_cast<LinkId>(l)) / total_;
    }
  }

  std::size_t classes() const { return capacity_.size(); }
  const RankPaths& paths() const { return paths_; }

  /// Prices of the classes at which trees are taken, and how much of the vector takes each.
  std::vector<std::pair<std::vector<double>, double>> solve() {
    std::vector<std::vector<double>> asked{std::vector<double>(classes(), 1)};
    std::vector<std::vector<double>> loads{class_loads(tree_at(asked[0], 0))};
    std::vector<double> gains(classes() + 1, 0);
    gains[0] = 1;
    double most = 0;
    for (std::size_t c = 0; c < classes(); ++c) most = std::max(most, loads[0][c] / capacity_[c]);
    LinearProgram program(std::move(gains), 1.01 * most);
    LinearRow all{{}, 1};
    for (std::size_t c = 0; c < classes(); ++c) {
      all.terms.emplace_back(1 + static_cast<int>(c), capacity_[c]);
    }
    program.add(all, true);
    for (int i = 0; i < most_iterations; ++i) {
      LinearRow row{{{0, 1}}, 0};
      for (std::size_t c = 0; c < classes(); ++c) {
        if (loads.back()[c] > 0) row.terms.emplace_back(1 + static_cast<int>(c), -loads.back()[c]);
      }
      program.add(row, true);
      program.solve();
      std::vector<double> prices(program.values().begin() + 1, program.values().end());
      std::vector<double> load = class_loads(tree_at(prices, 0));
      double cost = 0;
      for (std::size_t c = 0; c < classes(); ++c) cost += prices[c] * load[c];
      if (cost >= program.gain() * (1 - 1e-6)) break;
      asked.push_back(std::move(prices));
      loads.push_back(std::move(load));
    }
    std::vector<std::pair<std::vector<double>, double>> taken;
    for (const auto& [row, weight] : program.prices()) {
      if (row > 0 && weight > 1e-6) taken.emplace_back(asked[row - 1], weight);
    }
    return taken;
  }

  /// `times` of the trees at every rank, by weight. `even`: of equally cheap links each takes those
  /// that trees before it load least; otherwise all trees of a price are images of each other.
  TreePacking pack(const std::vector<std::pair<std::vector<double>, double>>& taken, int times,
                   bool even) {
    TreePacking packing{goal_, paths_.ranks(), {}, 0};
    load_.assign(class_of_.size(), 0);
    share_out(taken, times, [&](const std::vector<double>& prices, bool is_first) {
      for (Rank start = 0; start < paths_.ranks(); ++start) {
        packing.trees.push_back(even || is_first
                                    ? tree_at(prices, start, even)
                                    : packing.trees[packing.trees.size() - paths_.ranks()]);
        if (even) add_load(packing.trees.back());
      }
    });
    return completed(std::move(packing));
  }

  /// The same by the images of `times` trees.
  TreePacking pack_images(const std::vector<std::pair<std::vector<double>, double>>& taken,
                          int times, const std::vector<std::vector<Rank>>& images) {
    TreePacking packing{goal_, paths_.ranks(), {}, 0};
    load_.assign(class_of_.size(), 0);
    share_out(taken, times, [&](const std::vector<double>& prices, bool) {
      const PackedTree tree = tree_at(prices, 0, true);
      for (const std::vector<Rank>& image : images) {
        packing.trees.push_back({image[tree.root], tree.weight, image_of(tree.reduce, image),
                                 image_of(tree.broadcast, image)});
        add_load(packing.trees.back());
      }
    });
    return completed(std::move(packing));
  }

 private:
  static constexpr int most_iterations = 60;

  /// `give(prices, is_first)` `times` times in all: to each as many as its weight says.
  template <class Give>
  static void share_out(const std::vector<std::pair<std::vector<double>, double>>& taken, int times,
                        const Give& give) {
    double end = 0;
    int given = 0;
    for (const auto& [prices, weight] : taken) {
      end += weight;
      for (bool is_first = true; given < static_cast<int>(end * times + 0.5); ++given) {
        give(prices, std::exchange(is_first, false));
      }
    }
  }

  /// With equal weights, by root.
  TreePacking completed(TreePacking packing) const {
    for (PackedTree& tree : packing.trees) {
      tree.weight = 1.0 / static_cast<double>(packing.trees.size());
    }
    std::stable_sort(packing.trees.begin(), packing.trees.end(),
                     [](const PackedTree& a, const PackedTree& b) { return a.root < b.root; });
    packing.seconds_per_byte = fullest(packing.trees);
    return packing;
  }

  void add_load(const PackedTree& tree) {
    for_each_link(tree, [this](LinkId link) { load_[link] += 1; });
  }

  PackedTree tree_at(const std::vector<double>& prices, Rank start, bool even = false) {
    if (prices != priced_) {
      costs_ = both_ways(pair_costs(
          paths_, [&](LinkId link) { return prices[class_of_[link]]; }, no_tie));
      priced_ = prices;
    }
    constexpr double tolerance = 1e-6;
    const auto evenly = [&] {
      const PairCosts ties = both_ways(pair_costs(
          paths_, [this](LinkId link) { return load_[link]; }, no_tie));
      return cheapest_spanning_tree(costs_.ranks, costs_, start, tolerance, ties);
    };
    std::vector<Rank> parents =
        even ? evenly() : cheapest_spanning_tree(costs_.ranks, costs_, start, tolerance);
    if (goal_ != CollectiveKind::all_reduce) parents = with_root(std::move(parents), start);
    return tree_along(goal_, std::move(parents));
  }

  template <class Use>
  void for_each_link(const PackedTree& tree, Use use) const {
    for_each_message(tree, [&](Rank from, Rank to) {
      for (const LinkId link : paths_.links(from, to)) use(link);
    });
  }

  std::vector<double> class_loads(const PackedTree& tree) const {
    std::vector<double> loads(classes(), 0);
    for_each_link(tree, [&](LinkId link) { loads[class_of_[link]] += 1; });
    return loads;
  }

  double fullest(const std::vector<PackedTree>& trees) const {
    std::vector<double> load(class_of_.size(), 0);
    for (const PackedTree& tree : trees) {
      for_each_link(tree, [&](LinkId link) { load[link] += tree.weight; });
    }
    double most = 0;
    for (std::size_t l = 0; l < load.size(); ++l) {
      most = std::max(most, load[l] / topology_.capacity(static_cast<LinkId>(l)));
    }
    return most;
  }

  const Topology& topology_;
  CollectiveKind goal_;
  RankPaths paths_;
  std::vector<int> class_of_;     // by link
  std::vector<double> capacity_;  // of all links of a class, as a share of total_
  double total_ = 0;
  std::vector<double> priced_;  // what costs_ were made of
  PairCosts costs_;
  std::vector<double> load_;  // trees of an even packing over each link so far
};

}  // namespace

TreePacking alike_trees(const Topology& topology, CollectiveKind goal, double target,
                        double tolerance) {
  constexpr std::size_t most_classes = 64;
  constexpr int most_times = 8;
  constexpr int most_even = 2048;       // ranks: every tree then prices every pair
  constexpr int most_tried_over = 256;  // ranks of which more than one packing is tried so
  constexpr std::ptrdiff_t most_images = 512;
  constexpr double one_piece = 1.01;  // rounds: all links are then full in each of them
  TreePacking best{goal, topology.hosts(), {}, 0};
  if (!capacity_graph(topology).is_bidirectional()) return best;
  AlikePacker packer(topology, goal);
  if (packer.classes() > most_classes) return best;
  const auto taken = packer.solve();
  const auto is_enough = [&](TreePacking packing) {
    const bool reaches = packing.seconds_per_byte <= target * (1 + tolerance);
    const bool is_better =
        best.trees.empty() || packing.seconds_per_byte < best.seconds_per_byte * (1 - tolerance);
    if (reaches || is_better) best = std::move(packing);
    return reaches;
  };
  if (topology.hosts() <= most_tried_over) {
    const std::vector<std::vector<Rank>> shifts = shifts_of(topology, packer.paths());
    double least = std::numeric_limits<double>::infinity();
    for (int times = 1; times <= most_times && least > one_piece; ++times) {
      if (std::ssize(shifts) < topology.hosts() || times * std::ssize(shifts) > most_images) break;
      TreePacking packing = packer.pack_images(taken, times, shifts);
      if (packing.seconds_per_byte > target * (1 + tolerance)) continue;
      const double rounds = rounds_of_one_piece(topology, packing);
      if (rounds >= least * (1 - tolerance)) continue;
      least = rounds;
      best = std::move(packing);
    }
    if (!best.trees.empty()) return best;
  }
  for (const bool even : {false, true}) {
    if (even && topology.hosts() > most_even) break;
    const bool is_dear = even && topology.hosts() > most_tried_over;
    for (int times = 1; times <= (taken.size() == 1 || is_dear ? 1 : most_times); ++times) {
      if (is_enough(packer.pack(taken, times, even))) return best;
    }
  }
  return best;
}

}  // namespace collbench

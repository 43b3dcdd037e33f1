#include "heuristics/synthesis/tree_packing.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "core/error.h"
#include "heuristics/synthesis/alike_trees.h"
#include "heuristics/synthesis/capacity_graph.h"
#include "heuristics/synthesis/grown_trees.h"
#include "heuristics/synthesis/level_trees.h"
#include "heuristics/synthesis/linear_program.h"
#include "heuristics/synthesis/message_ways.h"
#include "heuristics/synthesis/middle_trees.h"
#include "heuristics/synthesis/pipelining.h"
#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/spanning_trees.h"
#include "heuristics/synthesis/tree_pricing.h"
#include "heuristics/synthesis/whole_trees.h"

namespace collbench {
namespace {

constexpr double least_weight = 1e-7;  // of the vector: rounding of the program
constexpr int most_iterations = 3000;
constexpr double cost_of_hop = 1e-4;                // of the time, where trees are weighed again
constexpr std::size_t most_weighed_again = 60'000;  // trees times links
constexpr int most_whole_trees = 512;
constexpr int most_grown_trees = 1024;
constexpr double whole_tolerance = 0.002;
constexpr double grown_tolerance = 0.005;
constexpr int most_cabled_ranks = 160;  // joined directly and not alike, of which trees are weighed
constexpr int few_grown_trees = 256;    // with which schedules are made soon
constexpr int most_weighted_trees = 4096;  // of which pieces become too many, or too few of each
constexpr double effort_for_fewer = 0.05;  // of the search for fewer
constexpr double lp_tolerance = 5e-4;
// How much of the prices at which trees are asked for is the linear program's; the rest is that of
// the best bound so far.
constexpr double blends[] = {0.2, 0.5, 1.0};

class Packer {
 public:
  Packer(const Topology& topology, CollectiveKind goal, LateRanks late = {},
         WayChoice choice = WayChoice::of_network)
      : pricer_(topology, goal, std::move(late), choice) {}

  TreePacking pack(double target, double tolerance) {
    solve(target, tolerance);
    TreePacking packing = pricer_.packing(weighted());
    packing.least_by_routes = bound_ / pricer_.total();
    return packing;
  }

  /// The same where ways are chosen; its time is that by the ways that trees were asked for with.
  TreePacking pack_over_any_ways(double target, double tolerance) {
    TreePacking packing = pack(target, tolerance);
    packing.seconds_per_byte = fullest(weights_) / pricer_.total();
    return packing;
  }

  /// Whether trees are shared by all roots, so that others may be faster.
  bool shares_trees() const { return pricer_.shares_trees(); }

  /// The last packing by equally heavy trees, the fewest that take `seconds_per_byte` within
  /// `tolerance`.
  TreePacking pack_whole(double seconds_per_byte, double tolerance, int most, double effort = 1,
                         const TimeOfCounts& time_of = {}) {
    return packing_of(whole_multiples(pricer_, weights_, seconds_per_byte,
                                      most > 0 ? most : most_whole_trees, tolerance, effort,
                                      time_of));
  }

  /// So many of each tree, equally heavy.
  TreePacking packing_of(const std::vector<int>& counts) const {
    std::vector<PackedTree> weighted;
    for (std::size_t c = 0; c < counts.size(); ++c) {
      for (int i = 0; i < counts[c]; ++i) weighted.push_back(pricer_.trees()[c]);
    }
    for (PackedTree& tree : weighted) tree.weight = 1.0 / static_cast<double>(weighted.size());
    return pricer_.packing(std::move(weighted));
  }

 private:
  std::vector<PackedTree> weighted() const {
    std::vector<PackedTree> trees;
    for (std::size_t c = 0; c < weights_.size(); ++c) {
      if (weights_[c] < least_weight / pricer_.roots()) continue;
      trees.push_back(pricer_.trees()[c]);
      trees.back().weight = weights_[c];
    }
    return trees;
  }

  void solve(double target, double tolerance) {
    // Prices at which a link costs as much as all its capacity does of all: cost is then a bound.
    std::vector<double> center(pricer_.capacity().size(), 1);
    bound_ = pricer_.price(center);
    const double equal = 1.0 / pricer_.roots();
    LinearProgram program =
        first_program(fullest(std::vector<double>(pricer_.trees().size(), equal)));
    add_rows(program, 0);
    for (int i = 0; i < most_iterations; ++i) {
      program.solve();
      const double time = program.gain();
      if (time <= std::max(target * pricer_.total(), bound_) * (1 + tolerance)) break;
      const std::size_t known = pricer_.trees().size();
      const auto first_price = program.values().begin() + pricer_.roots();
      for (const double blend : blends) {
        std::vector<double> prices(center.size());
        for (std::size_t l = 0; l < prices.size(); ++l) {
          prices[l] =
              blend * *(first_price + static_cast<std::ptrdiff_t>(l)) + (1 - blend) * center[l];
        }
        if (pricer_.shares_trees()) pricer_.make_even(prices);
        const double cost = pricer_.price(prices);
        if (cost <= bound_) continue;
        bound_ = cost;
        center = std::move(prices);
      }
      if (pricer_.trees().size() == known) break;
      add_rows(program, known);
      program.drop_slack_rows(30);
    }
    program.solve();
    take_weights(program);
    prefer_shallow(program.gain(), center);
  }

  /// Among equally fast packings one of less deep trees: hops cost a little of the time.
  void prefer_shallow(double time, const std::vector<double>& prices) {
    for (Rank start = 0; start < pricer_.ranks(); ++start) pricer_.price_shallow(prices, start);
    if (pricer_.trees().size() * pricer_.capacity().size() > most_weighed_again) return;
    std::vector<double> before = weights_;
    before.resize(pricer_.trees().size(), 0);
    hop_costs_ = cost_of_hop * time;
    double most = fullest(before);
    for (std::size_t c = 0; c < before.size(); ++c) {
      most += before[c] * hop_costs_ * pricer_.ways()[c];
    }
    try {
      weigh_again(first_program(most), before);
    } catch (const InvalidArgument&) {
      weights_ = before;  // as fast, with deeper trees
    }
    // Written so that a root left without any weight, which is no number, counts as worse.
    if (!(fullest(weights_) <= fullest(before) * (1 + 3 * cost_of_hop))) weights_ = before;
  }

  /// Adds the trees in use first, one by one: of all at once the program may go round in circles.
  void weigh_again(LinearProgram program, const std::vector<double>& before) {
    for (const bool in_use : {true, false}) {
      for (std::size_t c = 0; c < pricer_.trees().size(); ++c) {
        if ((before[c] > 0) != in_use) continue;
        add_row(program, c);
        if (in_use) program.solve();
      }
    }
    program.solve();
    take_weights(program);
  }

  /// The time of the fullest link, of all capacity.
  double fullest(const std::vector<double>& weights) const {
    std::vector<double> fill(pricer_.capacity().size(), 0);
    for (std::size_t c = 0; c < weights.size(); ++c) {
      for (const auto& [link, messages] : pricer_.loads()[c]) {
        fill[link] += weights[c] * messages / pricer_.capacity()[link];
      }
    }
    return *std::max_element(fill.begin(), fill.end());
  }

  /// `most` is what some weights of the trees take. Far from the optimum the program would begin
  /// with all rows broken and no cost to tell columns apart, and may then never end.
  LinearProgram first_program(double most) {
    tree_of_row_.clear();
    const int roots = pricer_.roots();
    const std::vector<double>& capacity = pricer_.capacity();
    std::vector<double> gains(static_cast<std::size_t>(roots) + capacity.size(), 0);
    std::fill_n(gains.begin(), roots, 1.0 / roots);
    // A little more, so that it does not bind: the weights are the prices of the trees' rows.
    LinearProgram program(std::move(gains), 1.01 * most);
    LinearRow row{{}, 1};
    for (std::size_t l = 0; l < capacity.size(); ++l) {
      row.terms.emplace_back(roots + static_cast<int>(l), capacity[l]);
    }
    program.add(row, true);
    return program;
  }

  void add_rows(LinearProgram& program, std::size_t from) {
    for (std::size_t c = from; c < pricer_.trees().size(); ++c) add_row(program, c);
  }

  void add_row(LinearProgram& program, std::size_t tree) {
    LinearRow row{{{pricer_.root_of(pricer_.trees()[tree]), 1}}, hop_costs_ * pricer_.ways()[tree]};
    for (const auto& [link, messages] : pricer_.loads()[tree]) {
      row.terms.emplace_back(pricer_.roots() + link, -messages);
    }
    program.add(row, false);
    tree_of_row_.push_back(tree);
  }

  void take_weights(const LinearProgram& program) {
    weights_.assign(pricer_.trees().size(), 0);
    std::vector<double> of_root(static_cast<std::size_t>(pricer_.roots()), 0);
    const auto root = [&](std::size_t c) { return pricer_.root_of(pricer_.trees()[c]); };
    for (const auto& [row, weight] : program.prices()) {
      if (row == 0 || weight < least_weight) continue;  // row 0 scales the prices
      const std::size_t c = tree_of_row_[row - 1];
      weights_[c] = weight;
      of_root[root(c)] += weight;
    }
    for (std::size_t c = 0; c < weights_.size(); ++c) {
      weights_[c] /= pricer_.roots() * of_root[root(c)];
    }
  }

  TreePricer pricer_;
  double hop_costs_ = 0;                  // in the program's time
  std::vector<std::size_t> tree_of_row_;  // of the program, from row 1 on
  double bound_ = 0;                      // what prices of links have proven so far
  std::vector<double> weights_;           // by tree, as shares of the vector
};

bool is_direct(const Topology& topology, const TreePacking& packing) {
  const RankPaths paths(topology);
  bool is_direct = true;
  for (const PackedTree& tree : packing.trees) {
    for_each_message(tree, [&](Rank from, Rank to) {
      is_direct = is_direct && paths.links(from, to).size() == 1;
    });
  }
  return is_direct;
}

using GrowTrees = std::function<TreePacking(double seconds_per_byte)>;

/// Equally heavy trees beside weighted ones, where messages pass several links or trees are many.
void add_whole(Packings& packed, Packer& packer, int equal_trees, const GrowTrees& grown) {
  const double time = packed.packing.seconds_per_byte;
  TreePacking other = grown(time);
  const double others_time =
      other.trees.empty() ? std::numeric_limits<double>::infinity() : other.seconds_per_byte;
  const bool suffices =
      others_time <= time * (1 + grown_tolerance) && std::ssize(other.trees) <= few_grown_trees;
  const double effort = suffices ? effort_for_fewer : 1;
  packed.whole = packer.pack_whole(time, whole_tolerance, equal_trees, effort);
  const double enough = time * (1 + whole_tolerance);
  const bool is_better =
      packed.whole.seconds_per_byte > enough
          ? others_time < packed.whole.seconds_per_byte
          : others_time <= enough && other.trees.size() < packed.whole.trees.size();
  if (is_better) std::swap(packed.whole, other);
  if (other.trees.size() < packed.whole.trees.size() && !other.trees.empty()) {
    packed.fewer.push_back(std::move(other));
  }
}

// As a schedule of a large vector plays it.
Seconds time_of_large(const Topology& topology, const RoutedPacking& routed) {
  constexpr Bytes large{1 << 30};
  return pipelining_for(topology.with_ways(routed.ways), routed.packing, large).time;
}

RoutedPacking with_message_ways(const Topology& topology, TreePacking packing) {
  RoutedPacking made{.packing = std::move(packing)};
  made.ways = message_ways(topology, made.packing.trees);
  made.packing.seconds_per_byte =
      seconds_per_byte(topology.with_ways(made.ways), made.packing.trees);
  return made;
}

// Of each pair the way that carries most.
Ways main_ways(Ways ways) {
  for (auto& [pair, of_pair] : ways) {
    Way most = *std::ranges::max_element(of_pair, {}, &Way::share);
    most.share = 1;
    of_pair.assign(1, std::move(most));
  }
  return ways;
}

}  // namespace

Packings pack_trees(const Topology& topology, CollectiveKind goal, double target, int equal_trees,
                    double worth_whole) {
  require(!has_root(goal) && topology.hosts() >= 2,
          "trees are packed for all-reduce, reduce-scatter and all-gather of at least 2 ranks");
  const auto is_found = [equal_trees](const TreePacking& packing) {
    const auto trees = std::ssize(packing.trees);
    return trees > 0 && (equal_trees == 0 || trees <= equal_trees);
  };
  TreePacking levels = level_trees(topology, goal, target, whole_tolerance);
  if (is_found(levels)) return {std::move(levels), {}};
  TreePacking even = alike_trees(topology, goal, target, whole_tolerance);
  const bool is_even = !even.trees.empty();
  if (is_even && even.seconds_per_byte <= target * (1 + whole_tolerance)) {
    return {std::move(even), {}};
  }
  const auto beside_even = [&](TreePacking packing) {
    Packings packed{std::move(packing), {}};
    if (is_even) packed.fewer.push_back(std::move(even));
    return packed;
  };
  if (goal == CollectiveKind::all_reduce) {
    TreePacking middle = middle_trees(topology, target, whole_tolerance);
    if (is_found(middle)) return beside_even(std::move(middle));
  }
  const auto grown = [&](double time) {
    return grown_trees(
        topology, goal, time, whole_tolerance,
        equal_trees > 0 ? equal_trees : std::max(most_grown_trees, topology.hosts()));
  };
  const bool is_large = topology.hosts() > most_programmed_ranks;
  const bool are_cabled = topology.vertices() == topology.hosts();
  TreePacking large;
  if (is_large || (are_cabled && topology.hosts() > most_cabled_ranks)) {
    large = grown(target);
    double most = std::numeric_limits<double>::infinity();
    if (is_even) most = even.seconds_per_byte * (1 - whole_tolerance);
    if (!is_large) most = target * (1 + grown_tolerance);
    if (!large.trees.empty() && large.seconds_per_byte < most) return beside_even(std::move(large));
    if (is_large && is_even) return {std::move(even), {}};
  }
  Packer packer(topology, goal);
  Packings packed;
  try {
    packed.packing = packer.pack(target, lp_tolerance);
  } catch (const InvalidArgument&) {  // rounding may lead the program in circles
    if (large.trees.empty()) large = grown(target);
    if (large.trees.empty()) throw;
    return beside_even(std::move(large));
  }
  if (packed.packing.seconds_per_byte > worth_whole && !packer.shares_trees()) return packed;
  const bool are_many = std::ssize(packed.packing.trees) > most_weighted_trees;
  if (equal_trees > 0 || are_many || !is_direct(topology, packed.packing)) {
    add_whole(packed, packer, equal_trees, grown);
  }
  const double found =
      packed.whole.trees.empty() ? packed.packing.seconds_per_byte : packed.whole.seconds_per_byte;
  if (!is_found(even)) return packed;
  if (even.seconds_per_byte <= found * (1 + whole_tolerance)) {
    packed.whole = std::move(even);
  } else {
    packed.fewer.push_back(std::move(even));
  }
  return packed;
}

RoutedPacking pack_with_ways(const Topology& topology, CollectiveKind goal, double target,
                             int equal_trees, double enough) {
  if (goal == CollectiveKind::reduce_scatter && capacity_graph(topology).is_bidirectional()) {
    RoutedPacking turned =
        pack_with_ways(topology, CollectiveKind::all_gather, target, equal_trees, enough);
    turned.packing.goal = goal;
    for (PackedTree& tree : turned.packing.trees) std::swap(tree.reduce, tree.broadcast);
    return turned.ways.empty() ? turned : with_message_ways(topology, std::move(turned.packing));
  }
  Packer packer(topology, goal, {}, WayChoice::cheapest);
  const TreePacking weighted = packer.pack_over_any_ways(target, lp_tolerance);
  if (weighted.seconds_per_byte > enough && !packer.shares_trees()) {
    RoutedPacking none;
    none.packing.least_by_routes = weighted.least_by_routes;
    return none;
  }
  // By one of these ways for each pair other trees may be found, and fewer.
  Packings one_way =
      pack_trees(topology.with_ways(main_ways(message_ways(topology, weighted.trees))), goal,
                 target, equal_trees);
  const bool is_whole = !one_way.whole.trees.empty();
  RoutedPacking made =
      with_message_ways(topology, std::move(is_whole ? one_way.whole : one_way.packing));
  if (made.packing.seconds_per_byte <= target * (1 + grown_tolerance)) return made;
  // Links that equal trees fill unevenly by one way each are evened out by several.
  const auto time_over_ways = [&](const std::vector<int>& counts) {
    const std::vector<PackedTree> trees = packer.packing_of(counts).trees;
    return seconds_per_byte(topology.with_ways(message_ways(topology, trees)), trees);
  };
  RoutedPacking spread = with_message_ways(
      topology, packer.pack_whole(target, whole_tolerance, equal_trees, 1, time_over_ways));
  const bool is_faster = time_of_large(topology, spread) < time_of_large(topology, made);
  return is_faster ? spread : made;
}

Packings pack_late_trees(const Topology& topology, const LateRanks& late, int equal_trees,
                         bool makes_whole) {
  Packer packer(topology, CollectiveKind::all_reduce, late);
  Packings packed{packer.pack(0, lp_tolerance), {}};
  if (makes_whole && (equal_trees > 0 || !is_direct(topology, packed.packing))) {
    packed.whole = packer.pack_whole(packed.packing.seconds_per_byte, whole_tolerance, equal_trees);
  }
  return packed;
}

}  // namespace collbench

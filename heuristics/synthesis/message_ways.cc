#include "heuristics/synthesis/message_ways.h"

#include <algorithm>
#include <map>
#include <utility>

#include "heuristics/synthesis/linear_program.h"
#include "heuristics/synthesis/rank_paths.h"

namespace collbench {
namespace {

using Pair = std::pair<Rank, Rank>;

/// The share of the vector that goes from one rank to another, over all trees.
std::map<Pair, double> traffic_of(const std::vector<PackedTree>& trees) {
  std::map<Pair, double> traffic;
  for (const PackedTree& tree : trees) {
    for_each_message(tree, [&](Rank from, Rank to) { traffic[{from, to}] += tree.weight; });
  }
  return traffic;
}

/// The dual program: a price for each pair and link, and a row for each way that says that a pair's
/// is at most that of its links. What a way carries is the price of its row.
class WayProgram {
 public:
  WayProgram(const Topology& topology, std::map<Pair, double> traffic)
      : topology_(topology), traffic_(std::move(traffic)) {
    for (LinkId link = 0; link < std::ssize(topology.links()); ++link) {
      capacity_.push_back(topology.capacity(link));
      total_ += capacity_.back();
    }
    for (double& capacity : capacity_) capacity /= total_;
  }

  Ways solve() {
    constexpr int most_rounds = 200;
    constexpr double least_gain = 1e-6;  // of the time, of prices that a new way would lessen
    std::vector<double> prices;
    for (const double capacity : capacity_) prices.push_back(1 / capacity);
    const RankPaths first(topology_, prices);
    LinearProgram program = first_program(first);
    for (int round = 0; round < most_rounds; ++round) {
      program.solve();
      prices.assign(program.values().end() - std::ssize(capacity_), program.values().end());
      if (!add_ways(program, RankPaths(topology_, prices), least_gain * program.gain())) break;
    }
    return ways(program);
  }

 private:
  LinearProgram first_program(const RankPaths& paths) {
    std::vector<double> gains;
    std::vector<double> load(capacity_.size(), 0);
    for (const auto& [pair, share] : traffic_) {
      gains.push_back(share);
      for (const LinkId link : paths.links(pair.first, pair.second)) {
        load[link] += share / capacity_[link];
      }
    }
    gains.resize(gains.size() + capacity_.size(), 0);
    LinearProgram program(std::move(gains), 1.01 * *std::ranges::max_element(load));
    LinearRow all{{}, 1};
    for (std::size_t l = 0; l < capacity_.size(); ++l) {
      all.terms.emplace_back(static_cast<int>(traffic_.size() + l), capacity_[l]);
    }
    program.add(all, true);
    int number = 0;
    for (const auto& [pair, share] : traffic_) add_way(program, number++, pair, paths);
    return program;
  }

  void add_way(LinearProgram& program, int number, Pair pair, const RankPaths& paths) {
    const auto links = paths.links(pair.first, pair.second);
    LinearRow row{{{number, 1}}, 0};
    for (const LinkId link : links) {
      row.terms.emplace_back(static_cast<int>(traffic_.size()) + link, -1);
    }
    program.add(row, true);
    ways_.push_back({pair, {links.begin(), links.end()}});
  }

  /// Adds the ways of `paths` that cost less than their pairs are priced at; false if all of them
  /// together would save no more than `least`.
  bool add_ways(LinearProgram& program, const RankPaths& paths, double least) {
    const std::vector<double> values = program.values();
    double saved = 0;
    int number = 0;
    for (const auto& [pair, share] : traffic_) {
      double cost = 0;
      for (const LinkId link : paths.links(pair.first, pair.second)) {
        cost += values[traffic_.size() + static_cast<std::size_t>(link)];
      }
      const double saves = share * (values[static_cast<std::size_t>(number)] - cost);
      if (saves > 1e-12) add_way(program, number, pair, paths);
      saved += std::max(0.0, saves);
      ++number;
    }
    return saved > least;
  }

  Ways ways(const LinearProgram& program) const {
    constexpr double least_share = 1e-6;  // of a pair's messages: rounding of the program
    Ways made;
    for (const auto& [row, weight] : program.prices()) {
      if (row == 0) continue;  // it scales the prices
      const auto& [pair, links] = ways_[static_cast<std::size_t>(row) - 1];
      if (weight > least_share * traffic_.at(pair)) made[pair].push_back({weight, links});
    }
    for (auto& [pair, spread] : made) {
      double all = 0;
      for (const Way& way : spread) all += way.share;
      for (Way& way : spread) way.share /= all;
    }
    return made;
  }

  const Topology& topology_;
  std::map<Pair, double> traffic_;
  std::vector<double> capacity_;  // by link, of that of all links
  double total_ = 0;
  std::vector<std::pair<Pair, std::vector<LinkId>>> ways_;  // by row of the program, from 1 on
};

}  // namespace

Ways message_ways(const Topology& topology, const std::vector<PackedTree>& trees) {
  return WayProgram(topology, traffic_of(trees)).solve();
}

}  // namespace collbench

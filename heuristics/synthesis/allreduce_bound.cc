#include "heuristics/synthesis/allreduce_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <boost/pending/disjoint_sets.hpp>

#include "core/error.h"
#include "heuristics/synthesis/graph_strength.h"
#include "heuristics/synthesis/linear_program.h"
#include "heuristics/synthesis/max_flow.h"

namespace collbench {
namespace {

constexpr double separation_tolerance = 2e-10;  // of the sum of all shares
constexpr double units_of_largest = 0x1p44;     // capacities as whole numbers, in cuts

/// One of the two parts of the arcs: broadcasts as they are, or reductions turned round, so that
/// both are trees that leave their root.
struct Part {
  CapacityGraph graph;
  std::vector<int> variable;  // of each of its arcs
};

class ShareSearch {
 public:
  explicit ShareSearch(const CapacityGraph& graph, double most)
      : graph_(graph),
        largest_(static_cast<double>(
            std::max_element(graph.arcs.begin(), graph.arcs.end(), by_capacity)->capacity)),
        is_bidirectional_(graph.is_bidirectional()),
        program_(gains(), most / largest_) {
    add_part(graph);
    if (!is_bidirectional_) add_part(graph.reversed());
    add_capacities();
    for (const Part& part : parts_) add_first_rows(part);
  }

  AllreduceShares run() {
    do {
      program_.solve();
      program_.drop_slack_rows(8);
    } while (add_broken_rows());
    return shares();
  }

 private:
  static bool by_capacity(const CapacityArc& a, const CapacityArc& b) {
    return a.capacity < b.capacity;
  }

  std::vector<double> gains() const {
    const std::size_t variables = graph_.arcs.size() * (is_bidirectional_ ? 1 : 2);
    std::vector<double> gains(static_cast<std::size_t>(graph_.ranks) + variables, 0);
    std::fill_n(gains.begin(), graph_.ranks, 1);
    return gains;
  }

  void add_part(const CapacityGraph& graph) {
    Part part{graph, {}};
    for (std::size_t a = 0; a < graph.arcs.size(); ++a) {
      part.variable.push_back(static_cast<int>(parts_.size() * graph.arcs.size() + a) +
                              graph.ranks);
    }
    flows_.emplace_back(graph.vertices + 1);
    for (const CapacityArc& arc : graph.arcs) flows_.back().add_arc(arc.from, arc.to);
    for (int r = 0; r < graph.ranks; ++r) flows_.back().add_arc(graph.vertices, r);
    parts_.push_back(std::move(part));
  }

  // The variable of the reduction's share of arc number `a` of the graph.
  std::map<std::pair<Vertex, Vertex>, int> reduce_variables() const {
    std::map<std::pair<Vertex, Vertex>, int> variables;
    const Part& turned = parts_.back();  // or the broadcast itself
    for (std::size_t a = 0; a < turned.graph.arcs.size(); ++a) {
      const CapacityArc& arc = turned.graph.arcs[a];
      variables[{arc.to, arc.from}] = turned.variable[a];
    }
    return variables;
  }

  void add_capacities() {
    const auto reduces = reduce_variables();
    for (std::size_t a = 0; a < graph_.arcs.size(); ++a) {
      const CapacityArc& arc = graph_.arcs[a];
      if (is_bidirectional_ && arc.from > arc.to) continue;  // one row for both directions
      const double limit = static_cast<double>(arc.capacity) / largest_;
      program_.add({{{parts_[0].variable[a], 1}, {reduces.at({arc.from, arc.to}), 1}}, limit},
                   true);
    }
    for (const Part& part : parts_) {
      for (int v = graph_.ranks; v < graph_.vertices; ++v) {
        LinearRow row;
        for (std::size_t a = 0; a < part.graph.arcs.size(); ++a) {
          if (part.graph.arcs[a].from == v) row.terms.emplace_back(part.variable[a], 1);
          if (part.graph.arcs[a].to == v) row.terms.emplace_back(part.variable[a], -1);
        }
        program_.add(row, true);
      }
    }
  }

  void add_first_rows(const Part& part) {
    for (int r = 0; r < graph_.ranks; ++r) {
      std::vector<bool> members(graph_.vertices, false);
      members[r] = true;
      add_cut(part, members);
      members.flip();
      add_cut(part, members);
    }
  }

  void add_cut(const Part& part, const std::vector<bool>& members) {
    LinearRow row;
    for (int r = 0; r < graph_.ranks; ++r) {
      if (members[r]) row.terms.emplace_back(r, 1);
    }
    for (std::size_t a = 0; a < part.graph.arcs.size(); ++a) {
      const CapacityArc& arc = part.graph.arcs[a];
      if (members[arc.from] && !members[arc.to]) row.terms.emplace_back(part.variable[a], -1);
    }
    program_.add(row, false);
  }

  bool add_broken_rows() {
    bool found = false;
    const std::vector<double>& y = program_.values();
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const Part& part = parts_[p];
      MaxFlow<std::int64_t>& flow = flows_[p];
      int number = 0;
      for (const int variable : part.variable) flow.set_capacity(number++, scaled(y[variable]));
      std::int64_t all = 0;
      for (int r = 0; r < graph_.ranks; ++r) {
        flow.set_capacity(number++, scaled(y[r]));
        all += scaled(y[r]);
      }
      const auto tolerance =
          static_cast<std::int64_t>(static_cast<double>(all) * separation_tolerance);
      std::set<std::vector<bool>> cuts;
      for (int sink = 0; sink < graph_.ranks; ++sink) {
        if (flow.solve(graph_.vertices, sink, all) >= all - tolerance) continue;
        for (std::vector<bool> members :
             {flow.reached_from(graph_.vertices), flow.not_leading_to(sink)}) {
          members.resize(static_cast<std::size_t>(graph_.vertices));
          cuts.insert(std::move(members));
        }
      }
      for (const std::vector<bool>& members : cuts) add_cut(part, members);
      found = found || !cuts.empty();
    }
    return found;
  }

  static std::int64_t scaled(double share) { return std::llround(share * units_of_largest); }

  AllreduceShares shares() const {
    const std::vector<double>& y = program_.values();
    AllreduceShares found;
    found.total = program_.gain() * largest_;
    for (int r = 0; r < graph_.ranks; ++r) found.root.push_back(y[r] * largest_);
    const auto reduces = reduce_variables();
    for (std::size_t a = 0; a < graph_.arcs.size(); ++a) {
      const CapacityArc& arc = graph_.arcs[a];
      found.broadcast.push_back(y[parts_[0].variable[a]] * largest_);
      found.reduce.push_back(y[reduces.at({arc.from, arc.to})] * largest_);
    }
    return found;
  }

  const CapacityGraph& graph_;
  double largest_;
  bool is_bidirectional_;
  LinearProgram program_;
  std::vector<Part> parts_;
  std::vector<MaxFlow<std::int64_t>> flows_;
};

bool is_equal(const Fraction& a, const Fraction& b) {
  return a.numerator == b.numerator && a.denominator == b.denominator;
}

/// 2 (groups - 1) vectors over what enters all groups.
Fraction gossip_bound(const CapacityGraph& graph, const std::vector<std::vector<Vertex>>& groups) {
  return reduced(static_cast<WideInteger>(2 * (groups.size() - 1)) * 1'000'000'000,
                 graph.entering(groups) * graph.unit);
}

/// The ranks, each alone or in groups that faster links than any between them join, at the rate at
/// which what enters all groups bounds most.
std::vector<std::vector<Vertex>> slowest_groups(const CapacityGraph& graph) {
  std::vector<CapacityArc> arcs = graph.arcs;
  std::ranges::stable_sort(arcs, std::greater<>(), &CapacityArc::capacity);
  boost::disjoint_sets_with_storage<> joined(graph.vertices);
  std::vector<std::vector<Vertex>> best;
  for (int r = 0; r < graph.ranks; ++r) best.push_back({r});
  Fraction least = gossip_bound(graph, best);
  for (std::size_t a = 0; a < arcs.size();) {
    const std::int64_t capacity = arcs[a].capacity;
    for (; a < arcs.size() && arcs[a].capacity == capacity; ++a) {
      joined.union_set(arcs[a].from, arcs[a].to);
    }
    std::map<std::size_t, std::vector<Vertex>> by_top;
    for (int r = 0; r < graph.ranks; ++r) by_top[joined.find_set(r)].push_back(r);
    if (std::ssize(by_top) == 1) break;
    for (int v = graph.ranks; v < graph.vertices; ++v) {
      const auto group = by_top.find(joined.find_set(v));
      if (group != by_top.end()) group->second.push_back(v);
    }
    std::vector<std::vector<Vertex>> groups;
    for (auto& [top, members] : by_top) groups.push_back(std::move(members));
    const Fraction bound = gossip_bound(graph, groups);
    if (bound.value() <= least.value()) continue;
    least = bound;
    best = std::move(groups);
  }
  return best;
}

/// The continued fraction of `value`, until it is within `tolerance` of it.
Fraction simplest_near(double value, double tolerance) {
  WideInteger p0 = 0, q0 = 1, p1 = 1, q1 = 0;
  double rest = value;
  for (int i = 0; i < 40; ++i) {
    const double floor = std::floor(rest);
    const auto a = static_cast<WideInteger>(floor);
    p0 = std::exchange(p1, a * p1 + p0);
    q0 = std::exchange(q1, a * q1 + q0);
    const Fraction found{p1, q1};
    if (std::abs(found.value() - value) <= tolerance * value || rest == floor) return found;
    rest = 1 / (rest - floor);
  }
  return {p1, q1};
}

}  // namespace

AllreduceShares best_allreduce_shares(const CapacityGraph& graph) {
  const ThroughputBound weakest = weakest_allreduce_bound(graph);
  const double most =
      1e9 / (weakest.seconds_per_gigabyte.value() * static_cast<double>(graph.unit));
  return ShareSearch(graph, most).run();
}

ThroughputBound allreduce_bound(const CapacityGraph& graph) {
  return allreduce_bound(graph, weakest_allreduce_bound(graph), two_halves_bound(graph));
}

ThroughputBound allreduce_bound(const CapacityGraph& graph, const ThroughputBound& weakest,
                                const Fraction& halves) {
  if (is_equal(halves, weakest.seconds_per_gigabyte)) return weakest;
  std::vector<std::vector<Vertex>> groups = binding_groups(graph);
  if (!groups.empty() && is_equal(halves, gossip_bound(graph, groups))) {
    return {halves, {}, 0, true, std::move(groups)};
  }
  groups = slowest_groups(graph);
  const bool are_cables = graph.vertices == graph.ranks && graph.is_bidirectional();
  if (are_cables) groups = weakest_groups(graph, std::move(groups));
  const Fraction passing = gossip_bound(graph, groups);
  const bool passes_most = passing.value() > weakest.seconds_per_gigabyte.value();
  const ThroughputBound cuts =
      passes_most ? ThroughputBound{passing, {}, 0, true, std::move(groups)} : weakest;
  if (are_cables || graph.ranks > most_programmed_ranks) return cuts;
  const AllreduceShares best = best_allreduce_shares(graph);
  const double seconds = 1e9 / (best.total * static_cast<double>(graph.unit));
  if (seconds <= cuts.seconds_per_gigabyte.value() * (1 + 1e-9)) return cuts;
  return {simplest_near(seconds, 2e-9), {}, 0, false};
}

Fraction two_halves_bound(const CapacityGraph& graph) {
  const Fraction gather = all_gather_bound(graph).seconds_per_gigabyte;
  const Fraction scatter =
      graph.is_bidirectional() ? gather : reduce_scatter_bound(graph).seconds_per_gigabyte;
  return reduced(gather.numerator * scatter.denominator + scatter.numerator * gather.denominator,
                 gather.denominator * scatter.denominator);
}

}  // namespace collbench

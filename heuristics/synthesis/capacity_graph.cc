#include "heuristics/synthesis/capacity_graph.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr double most_of_words = 4.6e18;  // 2^62

void sort_by_ends(std::vector<CapacityArc>& arcs) {
  std::sort(arcs.begin(), arcs.end(), [](const CapacityArc& a, const CapacityArc& b) {
    return std::pair{a.from, a.to} < std::pair{b.from, b.to};
  });
}

}  // namespace

CapacityGraph CapacityGraph::reversed() const {
  CapacityGraph turned = *this;
  for (CapacityArc& arc : turned.arcs) std::swap(arc.from, arc.to);
  sort_by_ends(turned.arcs);
  return turned;
}

bool CapacityGraph::is_bidirectional() const {
  const CapacityGraph turned = reversed();
  const auto same = [](const CapacityArc& a, const CapacityArc& b) {
    return a.from == b.from && a.to == b.to && a.capacity == b.capacity;
  };
  return std::equal(arcs.begin(), arcs.end(), turned.arcs.begin(), turned.arcs.end(), same);
}

std::int64_t CapacityGraph::sum_of_capacities() const {
  std::int64_t sum = 0;
  for (const CapacityArc& arc : arcs) sum += arc.capacity;
  return sum;
}

bool CapacityGraph::fits_words(int times) const {
  return static_cast<double>(sum_of_capacities()) * ranks * times < most_of_words;
}

WideInteger CapacityGraph::entering(const std::vector<std::vector<Vertex>>& groups) const {
  std::vector<int> group_of(vertices, -1);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const Vertex v : groups[g]) group_of[v] = static_cast<int>(g);
  }
  WideInteger sum = 0;
  for (const CapacityArc& arc : arcs) {
    if (group_of[arc.to] >= 0 && group_of[arc.to] != group_of[arc.from]) sum += arc.capacity;
  }
  return sum;
}

CapacityGraph capacity_graph(const Topology& topology) {
  std::map<std::pair<Vertex, Vertex>, std::int64_t> by_ends;
  double all = 0;
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    const double rate = topology.capacity(static_cast<LinkId>(i));
    all += rate;
    require(rate >= 1 && all < most_of_words,
            fmt::format("topology {}: the rates of links must be at least 1 byte per second each "
                        "and below 2^62 together; {} has {:.6g}",
                        topology.name(), topology.link_name(static_cast<LinkId>(i)), rate));
    if (link.from != link.to) by_ends[{link.from, link.to}] += std::llround(rate);
  }
  CapacityGraph graph;
  graph.ranks = topology.hosts();
  graph.vertices = topology.vertices();
  std::int64_t divisor = 0;
  for (const auto& [ends, rate] : by_ends) {
    graph.arcs.push_back({ends.first, ends.second, rate});
    divisor = std::gcd(divisor, rate);
  }
  graph.unit = std::max<std::int64_t>(divisor, 1);
  for (CapacityArc& arc : graph.arcs) arc.capacity /= graph.unit;
  return graph;
}

double Fraction::value() const {
  return static_cast<double>(static_cast<long double>(numerator) /
                             static_cast<long double>(denominator));
}

Fraction reduced(WideInteger numerator, WideInteger denominator) {
  WideInteger a = numerator;
  WideInteger b = denominator;
  while (b != 0) a = std::exchange(b, a % b);
  return {numerator / a, denominator / a};
}

std::string to_string(const Fraction& fraction) {
  return fraction.denominator == 1 ? fmt::format("{}", fraction.numerator)
                                   : fmt::format("{}/{}", fraction.numerator, fraction.denominator);
}

}  // namespace collbench

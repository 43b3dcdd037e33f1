#include "algorithms/earliest_rounds.h"

#include <algorithm>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

namespace collbench {

std::optional<std::vector<int>> earliest_rounds(int messages,
                                                const std::vector<Precedence>& precedences) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(messages);
  for (const Precedence& edge : precedences) boost::add_edge(edge.from, edge.to, graph);
  // Numbered against the direction of the edges: none leads to a component with a higher number.
  std::vector<int> components(messages);
  const int count = boost::strong_components(
      graph, boost::make_iterator_property_map(components.begin(),
                                               boost::get(boost::vertex_index, graph)));
  std::vector<Precedence> between;  // edges between components, from high to low numbers
  for (const Precedence& edge : precedences) {
    const int from = components[edge.from];
    const int to = components[edge.to];
    if (from == to && edge.delay > 0) return std::nullopt;
    if (from != to) between.push_back({from, to, edge.delay});
  }
  std::sort(between.begin(), between.end(),
            [](const Precedence& a, const Precedence& b) { return a.from > b.from; });
  std::vector<int> round_of(count, 0);
  for (const Precedence& edge : between) {
    round_of[edge.to] = std::max(round_of[edge.to], round_of[edge.from] + edge.delay);
  }
  std::vector<int> rounds(messages);
  for (int m = 0; m < messages; ++m) rounds[m] = round_of[components[m]];
  return rounds;
}

}  // namespace collbench

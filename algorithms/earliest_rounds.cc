#include "algorithms/earliest_rounds.h"

#include <algorithm>

namespace collbench {
namespace {

// Successors of each node, as ranges of one array of edges sorted by origin.
struct Graph {
  std::vector<Precedence> edges;
  std::vector<int> begin;

  Graph(int nodes, std::vector<Precedence> list) : edges(std::move(list)), begin(nodes + 1, 0) {
    std::sort(edges.begin(), edges.end(),
              [](const Precedence& a, const Precedence& b) { return a.from < b.from; });
    for (const Precedence& edge : edges) ++begin[edge.from + 1];
    for (int v = 0; v < nodes; ++v) begin[v + 1] += begin[v];
  }
};

// Tarjan's algorithm without recursion. Components are numbered against the direction of the
// edges: an edge never leads to a component with a higher number.
class Components {
 public:
  Components(const Graph& graph, int nodes)
      : graph_(graph), component_(nodes, -1), index_(nodes, -1), low_(nodes, 0), next_(nodes, 0) {
    for (int v = 0; v < nodes; ++v) {
      if (index_[v] < 0) visit_from(v);
    }
  }

  int operator[](int v) const { return component_[v]; }
  int count() const { return count_; }

 private:
  void enter(int v) {
    index_[v] = low_[v] = visited_++;
    next_[v] = graph_.begin[v];
    path_.push_back(v);
    open_.push_back(v);
  }

  void visit_from(int root) {
    enter(root);
    while (!path_.empty()) {
      const int v = path_.back();
      if (next_[v] < graph_.begin[v + 1]) {
        const int w = graph_.edges[next_[v]++].to;
        if (index_[w] < 0) {
          enter(w);
        } else if (component_[w] < 0) {
          low_[v] = std::min(low_[v], index_[w]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) low_[path_.back()] = std::min(low_[path_.back()], low_[v]);
      if (low_[v] == index_[v]) close(v);
    }
  }

  void close(int root) {
    for (int v = -1; v != root;) {
      v = open_.back();
      open_.pop_back();
      component_[v] = count_;
    }
    ++count_;
  }

  const Graph& graph_;
  std::vector<int> component_;
  std::vector<int> index_;
  std::vector<int> low_;
  std::vector<int> next_;  // the next edge of each node to follow
  std::vector<int> path_;
  std::vector<int> open_;
  int visited_ = 0;
  int count_ = 0;
};

}  // namespace

std::optional<std::vector<int>> earliest_rounds(int messages,
                                                const std::vector<Precedence>& precedences) {
  const Graph graph(messages, precedences);
  const Components components(graph, messages);
  std::vector<Precedence> between;  // edges between components, from high to low numbers
  for (const Precedence& edge : precedences) {
    const int from = components[edge.from];
    const int to = components[edge.to];
    if (from == to && edge.delay > 0) return std::nullopt;
    if (from != to) between.push_back({from, to, edge.delay});
  }
  std::sort(between.begin(), between.end(),
            [](const Precedence& a, const Precedence& b) { return a.from > b.from; });
  std::vector<int> round_of(components.count(), 0);
  for (const Precedence& edge : between) {
    round_of[edge.to] = std::max(round_of[edge.to], round_of[edge.from] + edge.delay);
  }
  std::vector<int> rounds(messages);
  for (int m = 0; m < messages; ++m) rounds[m] = round_of[components[m]];
  return rounds;
}

}  // namespace collbench

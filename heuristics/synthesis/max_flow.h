// Maximum flows of whole numbers, many on one graph: capacities change, arcs do not.
//
// Dinic 1970: blocking flows along shortest paths, O(V^2 E) at worst and far less on networks.
#pragma once

#include <vector>

#include "heuristics/synthesis/capacity_graph.h"

namespace collbench {

/// `Amount` is std::int64_t, or WideInteger where sums of capacities would not fit. Thread safety:
/// none.
template <class Amount>
class MaxFlow {
 public:
  explicit MaxFlow(int vertices);

  /// Returns the number of the arc, from 0 on.
  int add_arc(int from, int to);
  void set_capacity(int arc, Amount capacity);

  /// The flow from `source` to `sink`, at most `enough`, with the capacities set last.
  Amount solve(int source, int sink, Amount enough);

  /// Another way: no flow yet, with the capacities set last; then what more flows between any two
  /// vertices beside what flows already, which it may lead another way; and an arc whose capacity
  /// and flow are stated, whatever the flows at its ends then add up to.
  void clear();
  Amount add_flow(int source, int sink, Amount enough);
  void set_arc(int arc, Amount capacity, Amount flow);

  /// What crosses an arc.
  Amount flow(int arc) const { return residual_[2 * arc + 1]; }

  /// After a flow below `enough`, by vertex: whether it is on the source's side of the smallest
  /// minimum cut, or not on the sink's side of the largest.
  std::vector<bool> reached_from(int source) const;
  std::vector<bool> not_leading_to(int sink) const;

 private:
  bool find_levels(int source, int sink);
  Amount push(int vertex, int sink, Amount limit);
  /// What a walk over halves with room meets; with `partner` 1, over those whose partner has room.
  std::vector<bool> met_from(int start, int partner) const;

  struct Half {  // arc i is half 2i, its reverse 2i + 1
    int to;
    int next;
  };
  std::vector<int> first_;  // half leaving a vertex
  std::vector<int> cursor_;
  std::vector<int> level_;
  std::vector<int> queue_;
  std::vector<Half> halves_;
  std::vector<Amount> capacity_;  // by arc
  std::vector<Amount> residual_;  // by half
};

}  // namespace collbench

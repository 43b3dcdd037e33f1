// What no schedule of a network can beat, as exact numbers with the cut that proves them.
//
// All-gather of M bytes over N ranks takes at least
//
//   T = M / N * max over S of |ranks in S| / (capacity leaving S),
//
// S any set of vertices that misses a rank: each of its shards must leave it once, as some rank
// outside wants it. Edmonds' branching theorem says that trees reach this bound, so it is the
// optimum. Reduce-scatter is the same with every link turned round. For all-reduce see
// allreduce_bound.h.
//
// Sources: Edmonds 1973; Zhao et al., ForestColl (arXiv 2402.06787); the search is discrete Newton
// (Dinkelbach 1967) on minimum cuts in whole numbers, so nothing is rounded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heuristics/synthesis/capacity_graph.h"

namespace collbench {

/// A set of vertices and the direction over its border that binds.
struct BindingCut {
  std::vector<Vertex> members;  // ascending; the smaller side
  bool entering = false;        // data that enters `members`; otherwise data that leaves
};

struct ThroughputBound {
  Fraction seconds_per_gigabyte;    // of the whole vector, 10^9 bytes
  BindingCut cut;                   // empty where no single cut proves the bound
  std::int64_t trees_per_root = 0;  // least number of equal ones that reaches it; 0: not known
  bool exact = true;                // or recovered from an optimum found in floating point
  std::vector<std::vector<Vertex>> groups{};  // of all-reduce: that prove it; may be empty
};

/// Requires at least 2 ranks. Throws InvalidArgument, naming the set that no link leaves or enters,
/// for a network on which some rank cannot reach another. O(ranks * maximum flow).
ThroughputBound all_gather_bound(const CapacityGraph& graph);
ThroughputBound reduce_scatter_bound(const CapacityGraph& graph);

/// The same for all-gather by `trees` equal trees from every root, each link carrying whole ones:
/// what the bound loses to small programs. The cut is empty where it is more than that. Exact where
/// every switch has links of equal capacity in both directions. Requires 1 <= trees <= 1024.
ThroughputBound all_gather_bound(const CapacityGraph& graph, int trees);

/// What holds for every all-reduce without sums in the network: one vector through the smallest cut
/// between two ranks. Requires and throws as above.
ThroughputBound weakest_allreduce_bound(const CapacityGraph& graph);

/// The smallest sets around each rank that bind the bound of all-gather, if they part the ranks
/// into groups; otherwise nothing. Requires and throws as above.
std::vector<std::vector<Vertex>> binding_groups(const CapacityGraph& graph);

/// `members` of a cut, or its complement where that is shorter, with the direction it then has.
BindingCut shorter_side(const std::vector<bool>& members, bool entering);

/// "g0-g7 s_nv0": names of the vertices in their order, consecutive ranks of one stem as a range.
std::string to_string(const std::vector<Vertex>& vertices, const Topology& topology);

}  // namespace collbench

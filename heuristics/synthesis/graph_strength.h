// The strength of a network: where its ranks are joined by cables, alike in both directions and
// without switches, what no all-reduce can beat, exactly.
//
// If ranks form g groups, each all-reduce passes 2 (g - 1) vectors between them, one for each edge
// of a tree there and back. So it takes at least (g - 1) over what the cables between groups carry,
// and the groups for which that is most are as many as prove the optimum: by Tutte and
// Nash-Williams (1961) there are trees over all ranks that use every cable up to this bound. The
// least of (capacity between groups) / (g - 1) is called the strength of the graph.
//
// Found by discrete Newton: for a ratio, the groups that fall furthest below it are those of a
// greedy vector whose entries are minimum cuts, one of each rank (Cunningham, Optimal attack and
// reinforcement of a network, J. ACM 1985). In whole numbers, so nothing is rounded.
#pragma once

#include <vector>

#include "heuristics/synthesis/capacity_graph.h"

namespace collbench {

/// Groups of ranks with the least capacity between them for their number less one; `known`, at
/// least 2 groups, if those are such. O(iterations * ranks * maximum flow), of which few
/// iterations are needed, and flows are near their rank as a rule. Requires at least 2 ranks, all
/// of which reach each other, no other vertices, and graph.is_bidirectional().
std::vector<std::vector<Vertex>> weakest_groups(const CapacityGraph& graph,
                                                std::vector<std::vector<Vertex>> known);

}  // namespace collbench

// Networks that shifts map onto themselves: nodes that are alike, behind switches that are.
//
// If ranks are numbered as a grid and the network looks the same when all move one place along any
// axis, the images of one tree under all shifts load alike links equally, piece for piece in every
// round, which trees that are merely alike do not.
#pragma once

#include <vector>

#include "algorithms/schedule.h"
#include "heuristics/synthesis/rank_paths.h"

namespace collbench {

/// Where each rank goes. Tried are grids of so many ranks, in which all places move along some
/// axes: most shifts count, as many as there are ranks where all axes are such (the shift at `by`
/// then maps rank 0 there). The first moves none, and may be alone. Only lengths and narrowest
/// links of the ways between ranks are compared.
std::vector<std::vector<Rank>> shifts_of(const Topology& topology, const RankPaths& paths);

/// Where a shift takes a tree: the parent of each rank, -1 at the root.
std::vector<Rank> image_of(const std::vector<Rank>& parents, const std::vector<Rank>& shift);

}  // namespace collbench

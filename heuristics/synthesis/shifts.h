// Networks that shifts map onto themselves: tori, hypercubes, nodes that are alike.
//
// If ranks are numbered as a grid and the network looks the same when all move one place along any
// axis, the images of one tree under all shifts load alike links equally, piece for piece in every
// round, which trees that are merely alike do not. Both directions of a cable, and those of several
// axes, are alike if mirrors and exchanged axes keep the network too.
#pragma once

#include <vector>

#include "algorithms/schedule.h"
#include "heuristics/synthesis/rank_paths.h"

namespace collbench {

/// Where each rank goes.
struct Likenesses {
  std::vector<std::vector<Rank>> shifts;  // one maps rank 0 to each rank; the first is no move
  std::vector<std::vector<Rank>> all;     // these, and mirrored and with axes exchanged, if alike
};
/// Tried are the grid of the topology's layout and all others of so many ranks; empty if none fits.
/// Only lengths and narrowest links of the ways between ranks are compared.
Likenesses likenesses_of(const Topology& topology, const RankPaths& paths);

}  // namespace collbench

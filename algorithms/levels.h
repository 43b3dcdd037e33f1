// All-reduce over a grid of ranks, one axis (or level of a hierarchy) after another: reduce-scatter
// along each axis in turn, each on the shard that the axis before left, then the all-gathers back.
#pragma once

#include <functional>
#include <vector>

#include "algorithms/reduce_scatter.h"
#include "algorithms/schedule.h"

namespace collbench {

/// One axis: ranks that differ only in their coordinate (rank / stride) mod size.
struct Level {
  int size = 1;
  int stride = 1;
  Phases phases;  // over `size` ranks
};

/// Chunks that every rank must own at the end for the phases of all levels to fit: 1 or 2.
int pieces_per_rank(const std::vector<Level>& levels);

/// Plays the levels in the order given on the chunks of `target`, in a buffer of `chunks` chunks.
/// Requires the sizes to multiply to `ranks`, and target.count to be a multiple of
/// ranks * pieces_per_rank(levels). Sends 2 (ranks-1)/ranks of the target per rank.
Schedule all_reduce_over(const std::vector<Level>& levels, int ranks, int chunks, Chunks target);

/// The levels of the grid `dims`, whose first axis varies fastest: rank = i0 + d0 * (i1 + ...).
std::vector<Level> grid_levels(const std::vector<int>& dims,
                               const std::function<Phases(std::size_t axis, int size)>& phases);

}  // namespace collbench

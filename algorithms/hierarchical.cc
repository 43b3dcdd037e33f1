#include <functional>
#include <numeric>

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/levels.h"
#include "core/error.h"

namespace collbench {

// Levels from the innermost out: after the reduce-scatter inside a node, the ranks with equal place
// in their nodes share a shard and go on one level up. Only 1/d0 of the vector leaves a node.
Schedule hierarchical(const std::vector<int>& dims, const PhasesOf& inner, const PhasesOf& outer) {
  require(!dims.empty(), "hierarchical: needs at least one level");
  const int ranks = std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>());
  const std::vector<Level> levels = grid_levels(dims, [&](std::size_t i, int size) {
    return i + 1 < dims.size() ? inner(size) : outer(size);
  });
  const int chunks = ranks * pieces_per_rank(levels);
  return all_reduce_over(levels, ranks, chunks, {0, chunks}).named("hierarchical");
}

Schedule torus_2d(int width, int height) {
  return hierarchical({width, height}, ring_phases, ring_phases).named("torus-2d");
}

}  // namespace collbench

#include "algorithms/allreduce.h"
#include "algorithms/combinators.h"
#include "algorithms/levels.h"
#include "core/error.h"

namespace collbench {
namespace {

int product(const std::vector<int>& dims) {
  int ranks = 1;
  for (const int d : dims) ranks *= d;
  return ranks;
}

}  // namespace

// Levels from the innermost out: after the reduce-scatter inside a node, the ranks with equal place
// in their nodes share a shard and go on one level up. Only 1/d0 of the vector leaves a node.
Schedule hierarchical(const std::vector<int>& dims, const PhasesOf& inner, const PhasesOf& outer) {
  require(!dims.empty(), "hierarchical: needs at least one level");
  const int ranks = product(dims);
  const std::vector<Level> levels = grid_levels(dims, [&](std::size_t i, int size) {
    return i + 1 < dims.size() ? inner(size) : outer(size);
  });
  const int chunks = ranks * pieces_per_rank(levels);
  return named("hierarchical", all_reduce_over(levels, ranks, chunks, {0, chunks}));
}

Schedule torus_2d(int width, int height) {
  return named("torus-2d", hierarchical({width, height}, ring_phases, ring_phases));
}

}  // namespace collbench

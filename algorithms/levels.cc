#include "algorithms/levels.h"

#include <algorithm>
#include <memory>

#include "algorithms/combinators.h"

namespace collbench {

int pieces_per_rank(const std::vector<Level>& levels) {
  int pieces = 1;
  for (const Level& level : levels) {
    pieces = std::max(pieces, level.phases.reduce_scatter.chunks() / level.size);
  }
  return pieces;
}

Schedule all_reduce_over(const std::vector<Level>& levels, int ranks, int chunks, Chunks target) {
  struct Axis {
    int size;
    int stride;
  };
  auto axes = std::make_shared<std::vector<Axis>>();
  for (const Level& level : levels) axes->push_back({level.size, level.stride});
  // On axis i a rank works on the shard that its coordinates on the axes before select.
  const auto seating_on = [axes, target](std::size_t i) {
    return [axes, target, i](Rank r) -> std::optional<Seat> {
      const auto coordinate = [r](const Axis& axis) { return r / axis.stride % axis.size; };
      Chunks shard = target;
      for (std::size_t j = 0; j < i; ++j) {
        shard.count /= (*axes)[j].size;
        shard.first += shard.count * coordinate((*axes)[j]);
      }
      const Axis& axis = (*axes)[i];
      return Seat{coordinate(axis), r - coordinate(axis) * axis.stride, axis.stride, shard};
    };
  };
  std::vector<Schedule> stages;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    stages.push_back(embed(levels[i].phases.reduce_scatter, ranks, chunks, seating_on(i)));
  }
  // The all-gathers go back in the reverse order: the last axis holds the smallest shards, and each
  // gather restores the shard with which its axis began.
  for (std::size_t i = levels.size(); i-- > 0;) {
    stages.push_back(embed(levels[i].phases.all_gather, ranks, chunks, seating_on(i)));
  }
  return sequence("levels", stages);
}

std::vector<Level> grid_levels(const std::vector<int>& dims,
                               const std::function<Phases(std::size_t axis, int size)>& phases) {
  std::vector<Level> levels;
  int stride = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    levels.push_back({dims[i], stride, phases(i, dims[i])});
    stride *= dims[i];
  }
  return levels;
}

}  // namespace collbench

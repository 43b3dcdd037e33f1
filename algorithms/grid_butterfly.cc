#include "algorithms/grid_butterfly.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "algorithms/combinators.h"
#include "algorithms/reduce_scatter.h"
#include "core/error.h"

namespace collbench {
namespace {

struct Axis {
  int size;
  int stride;
  int steps;
};

// The axes longer than 1.
std::vector<Axis> axes_of(const std::string& name, const std::vector<int>& dims) {
  constexpr int most_ranks = 1 << 30;
  std::vector<Axis> axes;
  int stride = 1;
  for (const int d : dims) {
    require(d >= 1 && std::has_single_bit(static_cast<unsigned>(d)),
            name + ": lengths of axes must be powers of two, not " + std::to_string(d));
    require(d <= most_ranks / stride,
            name + ": the axes have more than " + std::to_string(most_ranks) + " ranks together");
    if (d > 1) axes.push_back({d, stride, std::countr_zero(static_cast<unsigned>(d))});
    stride *= d;
  }
  return axes;
}

// The exchange of one round.
struct Exchange {
  Axis axis;
  int step;
};

std::vector<Exchange> exchanges(const std::vector<Axis>& axes, std::size_t first) {
  std::vector<Exchange> rounds;
  int steps = 0;
  for (const Axis& axis : axes) steps = std::max(steps, axis.steps);
  for (int step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Axis& axis = axes[(first + i) % axes.size()];
      if (step < axis.steps) rounds.push_back({axis, step});
    }
  }
  return rounds;
}

Partner partner_on(const std::vector<Exchange>& rounds, AxisPartner partner) {
  return [rounds, partner](Rank r, int t) {
    const auto& [axis, step] = rounds[static_cast<std::size_t>(t)];
    const int coordinate = r / axis.stride % axis.size;
    return r + (partner(coordinate, step, axis.size) - coordinate) * axis.stride;
  };
}

// 1, -1, 3, -5, 11, ...: (1 - (-2)^(step+1)) / 3, so that partners stay close for long.
int swing_jump(int step) {
  const int power = 1 << (step + 1);
  return (1 - ((step + 1) % 2 == 0 ? power : -power)) / 3;
}

}  // namespace

int swing_partner(int coordinate, int step, int size) {
  const int jump = coordinate % 2 == 0 ? swing_jump(step) : -swing_jump(step);
  return (coordinate + jump + 2 * size) % size;
}

int mirrored_swing_partner(int coordinate, int step, int size) {
  const int jump = coordinate % 2 == 0 ? -swing_jump(step) : swing_jump(step);
  return (coordinate + jump + 2 * size) % size;
}

int near_partner(int coordinate, int step, int /*size*/) { return coordinate ^ (1 << step); }
int far_partner(int coordinate, int step, int size) { return coordinate ^ (size >> (step + 1)); }

Schedule grid_butterfly(const std::string& name, const GridButterfly& grid) {
  const std::vector<Axis> axes = axes_of(name, grid.dims);
  int ranks = 1;
  for (const Axis& axis : axes) ranks *= axis.size;
  const int count = std::max(1, static_cast<int>(axes.size()));
  const int most = grid.mirrored == nullptr ? count : 2 * count;
  require(grid.tracks >= 1 && grid.tracks <= most,
          name + ": streams must be from 1 to " + std::to_string(most) + " for " +
              std::to_string(count) + " axes longer than 1, not " + std::to_string(grid.tracks));
  if (ranks == 1) return {name, {1, 1, 0}, [](Rank, int, Round&) {}};
  const int chunks = grid.whole_vectors ? 1 : ranks;  // of each track
  require(grid.tracks <= std::numeric_limits<int>::max() / chunks,
          name + ": " + std::to_string(grid.tracks) + " streams of " + std::to_string(chunks) +
              " chunks are too many");
  std::vector<Schedule> parts;
  for (int s = 0; s < grid.tracks; ++s) {
    const auto order = exchanges(axes, static_cast<std::size_t>(s % count));
    const Partner partner = partner_on(order, s < count ? grid.partner : grid.mirrored);
    const Chunks target{s * chunks, chunks};
    const auto seating = [target](Rank r) { return std::optional<Seat>({r, 0, 1, target}); };
    const auto play = [&](const Schedule& inner) {
      return embed(inner, ranks, grid.tracks * chunks, seating);
    };
    if (grid.whole_vectors) {
      parts.push_back(play(butterfly_exchange(ranks, partner)));
    } else {
      const Phases phases = butterfly_phases(ranks, partner);
      parts.push_back(sequence(name, {play(phases.reduce_scatter), play(phases.all_gather)}));
    }
  }
  return concurrent(name, parts);
}

}  // namespace collbench

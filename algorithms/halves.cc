#include "algorithms/halves.h"

#include <algorithm>
#include <string>

#include "algorithms/resolve.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr int most_checked_ranks = 64;

void check_halves(const Schedule& schedule) {
  const std::string reason = schedule.name() +
                             " is not a reduce-scatter followed by an all-gather; ring, circulant, "
                             "direct, halving-doubling, hierarchical and torus are";
  require(schedule.rounds() % 2 == 0, reason);
  const int checked = std::min(schedule.ranks(), most_checked_ranks);
  ResolvedRound round;
  for (int i = 0; i < checked; ++i) {
    const auto rank = static_cast<Rank>(static_cast<std::int64_t>(i) * schedule.ranks() / checked);
    for (int t = 0; t < schedule.rounds(); ++t) {
      resolve(schedule, rank, t, round);
      const bool reduces = t < schedule.rounds() / 2;
      require(std::ranges::all_of(round.receipts(),
                                  [&](const Receipt& receipt) { return receipt.folds == reduces; }),
              reason);
    }
  }
}

Schedule rounds_between(const Schedule& schedule, int first, int last, const std::string& suffix) {
  const Shape shape{schedule.ranks(), schedule.chunks(), last - first};
  const auto part = [schedule, first](Rank rank, int t, Round& out) {
    schedule.round(rank, first + t, out);
  };
  return {schedule.name() + suffix, shape, part, schedule.partition()};
}

}  // namespace

Schedule reduce_scatter_half(const Schedule& schedule) {
  check_halves(schedule);
  return rounds_between(schedule, 0, schedule.rounds() / 2, " (reduce-scatter)");
}

Schedule all_gather_half(const Schedule& schedule) {
  check_halves(schedule);
  return rounds_between(schedule, schedule.rounds() / 2, schedule.rounds(), " (all-gather)");
}

}  // namespace collbench

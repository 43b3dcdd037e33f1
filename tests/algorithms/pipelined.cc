#include "tests/algorithms/pipelined.h"

#include <algorithm>
#include <string>

#include "core/error.h"

namespace collbench {
namespace {

// Round t of a train plays the inner rounds of a window that grows, slides and shrinks. Rounds are
// alike while the window stays, or slides within one run.
std::vector<int> train_runs(const Schedule& inner, int segments) {
  struct Window {
    int first;
    int last;
  };
  const auto window = [&](int t) {
    return Window{std::max(0, t - segments + 1), std::min(t, inner.rounds() - 1)};
  };
  std::vector<int> runs{0};
  for (int t = 1; t < inner.rounds() + segments - 1; ++t) {
    const Window before = window(t - 1);
    const Window now = window(t);
    const bool stays = before.first == now.first && before.last == now.last;
    const bool slides = before.first + 1 == now.first && before.last + 1 == now.last &&
                        inner.pattern(before.first) == inner.pattern(now.last);
    if (!stays && !slides) runs.push_back(t);
  }
  return runs;
}

}  // namespace

Schedule pipelined(const Schedule& schedule, int segments) {
  require(segments >= 1,
          schedule.name() + ": segments must be at least 1, not " + std::to_string(segments));
  if (segments == 1 || schedule.rounds() == 0) return schedule;
  const int chunks = schedule.chunks();
  const auto play = [schedule, segments, chunks](Rank r, int t, Round& out) {
    Round round;
    // Segment s is in its round t - s. Both ends of a message list the segments in the same order,
    // so that messages match.
    const int last = std::min(segments - 1, t);
    for (int s = std::max(0, t - schedule.rounds() + 1); s <= last; ++s) {
      schedule.round(r, t - s, round);
      for (const Op& op : round.ops()) {
        out.push({op.kind, op.peer, {s * chunks + op.chunks.first, op.chunks.count}});
      }
    }
  };
  return {schedule.name(),
          {schedule.ranks(), chunks * segments, schedule.rounds() + segments - 1},
          play,
          {},
          train_runs(schedule, segments)};
}

}  // namespace collbench

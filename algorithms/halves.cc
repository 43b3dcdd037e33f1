#include "algorithms/halves.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/collective.h"
#include "algorithms/registry.h"
#include "algorithms/resolve.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr int most_checked_ranks = 64;

// What each old chunk is called; empty: as before.
using ChunkNumbers = std::vector<int>;

// Reads what the halves of a schedule leave to each rank.
class HalvesReader {
 public:
  explicit HalvesReader(const Schedule& schedule) : schedule_(schedule) {
    check(schedule.rounds() % 2 == 0);
  }

  ChunkNumbers numbers() {
    const int n = schedule_.ranks();
    if (schedule_.rounds() == 0) return {};
    const int checked = std::min(n, most_checked_ranks);
    bool in_order = true;
    for (int i = 0; i < checked; ++i) {
      const auto rank = static_cast<Rank>(std::int64_t{i} * n / checked);
      const std::vector<int> owned = owned_chunks(rank);
      in_order = in_order && owned.front() == static_cast<int>(owned.size()) * rank &&
                 owned.back() == owned.front() + static_cast<int>(owned.size()) - 1;
    }
    if (in_order) return {};
    ChunkNumbers numbers(static_cast<std::size_t>(schedule_.chunks()), -1);
    int next = 0;
    for (Rank rank = 0; rank < n; ++rank) {
      for (const int chunk : owned_chunks(rank)) {
        check(numbers[chunk] < 0);
        numbers[chunk] = next++;
      }
    }
    return numbers;
  }

 private:
  void check(bool splits) const {
    if (splits) return;
    std::string able;
    for (const AlgorithmInfo& info : algorithms()) {
      if (!info.has_shares || info.name == schedule_.name()) continue;
      able += (able.empty() ? "" : ", ") + std::string(info.name);
    }
    throw InvalidArgument(schedule_.name() + " of " + std::to_string(schedule_.ranks()) +
                          " ranks is not a reduce-scatter into equal shares followed by an "
                          "all-gather; others are, where ranks and options allow it: " +
                          able);
  }

  // The chunks that `rank` never gets from another in the second half.
  std::vector<int> owned_chunks(Rank rank) {
    const int rounds = schedule_.rounds();
    std::vector<bool> received(static_cast<std::size_t>(schedule_.chunks()), false);
    for (int t = 0; t < rounds; ++t) {
      resolve(schedule_, rank, t, round_);
      const bool reduces = t < rounds / 2;
      for (const Receipt& receipt : round_.receipts()) {
        check(receipt.folds == reduces);
        if (!reduces)
          std::fill_n(received.begin() + receipt.chunks.first, receipt.chunks.count, true);
      }
    }
    std::vector<int> owned;
    for (int c = 0; c < schedule_.chunks(); ++c) {
      if (!received[c]) owned.push_back(c);
    }
    check(std::ssize(owned) * schedule_.ranks() == schedule_.chunks());
    return owned;
  }

  const Schedule& schedule_;
  ResolvedRound round_;
};

// One operation as those on chunks of other numbers: one for each run of consecutive ones.
void push_renumbered(const Op& op, const ChunkNumbers& numbers, Round& out) {
  std::vector<int> chunks(numbers.begin() + op.chunks.first,
                          numbers.begin() + op.chunks.first + op.chunks.count);
  std::sort(chunks.begin(), chunks.end());
  for (auto first = chunks.begin(); first != chunks.end();) {
    auto last = first + 1;
    while (last != chunks.end() && *last == *(last - 1) + 1) ++last;
    out.push({op.kind, op.peer, {*first, static_cast<int>(last - first)}});
    first = last;
  }
}

Schedule rounds_between(const Schedule& schedule, int first, int last,
                        const std::shared_ptr<const ChunkNumbers>& numbers,
                        const std::string& suffix) {
  const auto part = [schedule, first, numbers](Rank rank, int t, Round& out) {
    if (numbers->empty()) return schedule.round(rank, first + t, out);
    Round round;
    schedule.round(rank, first + t, round);
    for (const Op& op : round.ops()) push_renumbered(op, *numbers, out);
  };
  std::vector<int> runs;
  for (const int run : schedule.runs()) {
    if (run >= last || !numbers->empty()) break;
    if (run <= first) runs.clear();
    runs.push_back(std::max(run - first, 0));
  }
  const Schedule half(schedule.name() + suffix, {schedule.ranks(), schedule.chunks(), last - first},
                      part, share_partition(schedule.ranks(), schedule.chunks() / schedule.ranks()),
                      std::move(runs));
  const bool aligned = std::ranges::all_of(schedule.tracks(), [&](const Schedule& track) {
    return track.rounds() == schedule.rounds();
  });
  if (schedule.tracks().empty() || !aligned) return half;
  std::vector<Schedule> tracks;
  for (const Schedule& track : schedule.tracks()) {
    tracks.push_back(rounds_between(track, first, last, numbers, suffix));
  }
  return half.with_tracks(std::move(tracks));
}

Schedule half_of(const Schedule& schedule, int part, const std::string& suffix) {
  const auto numbers = std::make_shared<const ChunkNumbers>(HalvesReader(schedule).numbers());
  const int half = schedule.rounds() / 2;
  return rounds_between(schedule, part * half, (part + 1) * half, numbers, suffix);
}

}  // namespace

Schedule reduce_scatter_half(const Schedule& schedule) {
  return half_of(schedule, 0, " (reduce-scatter)");
}

Schedule all_gather_half(const Schedule& schedule) { return half_of(schedule, 1, " (all-gather)"); }

}  // namespace collbench

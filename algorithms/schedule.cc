#include "algorithms/schedule.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "core/error.h"

namespace collbench {

Partition near_equal_partition(int chunks) {
  return [chunks](int chunk, std::int64_t count, int element_bytes) {
    assert(chunk >= 0 && chunk <= chunks);
    if (chunk == chunks) return count;
    const std::int64_t line = std::max(1, 64 / element_bytes);
    // 16 cache lines per chunk make whole-line boundaries cost at most 1/16 of a chunk.
    const std::int64_t unit = count >= 16 * line * chunks ? line : 1;
    const std::int64_t units = count / unit;
    // Equal to units * chunk / chunks, without overflow for large counts.
    return unit * (units / chunks * chunk + units % chunks * chunk / chunks);
  };
}

Schedule::Schedule(std::string name, Shape shape, Function function, Partition partition,
                   std::vector<int> runs)
    : name_(std::move(name)),
      shape_(shape),
      function_(std::move(function)),
      partition_(partition ? std::move(partition) : near_equal_partition(shape.chunks)),
      runs_(std::move(runs)) {
  require(shape.ranks >= 1,
          name_ + ": ranks must be at least 1, not " + std::to_string(shape.ranks));
  require(shape.chunks >= 1,
          name_ + ": chunks must be at least 1, not " + std::to_string(shape.chunks));
  require(shape.rounds >= 0, name_ + ": rounds must not be negative");
  assert(runs_.empty() || runs_[0] == 0);
  assert(std::is_sorted(runs_.begin(), runs_.end(), std::less_equal<>()));
  while (!runs_.empty() && runs_.back() >= shape.rounds) runs_.pop_back();
}

void Schedule::round(Rank rank, int round, Round& out) const {
  assert(rank >= 0 && rank < shape_.ranks);
  assert(round >= 0 && round < shape_.rounds);
  out.clear();
  function_(rank, round, out);
}

std::vector<int> Schedule::runs() const {
  if (!runs_.empty()) return runs_;
  std::vector<int> all(static_cast<std::size_t>(shape_.rounds));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

int Schedule::pattern(int round) const {
  assert(round >= 0 && round < shape_.rounds);
  return runs_.empty() ? round : *(std::upper_bound(runs_.begin(), runs_.end(), round) - 1);
}

std::span<const Schedule> Schedule::tracks() const {
  if (tracks_ == nullptr) return {};
  return *tracks_;
}

Schedule Schedule::with_tracks(std::vector<Schedule> tracks) const {
  for ([[maybe_unused]] const Schedule& track : tracks) {
    assert(track.ranks() == ranks() && track.chunks() == chunks());
    assert(track.rounds() <= rounds() && track.tracks().empty());
  }
  Schedule joined = *this;
  joined.tracks_ = std::make_shared<const std::vector<Schedule>>(std::move(tracks));
  return joined;
}

Schedule Schedule::with_partition(const Partition& partition) const {
  Schedule cut = *this;
  cut.partition_ = partition;
  if (tracks().empty()) return cut;
  std::vector<Schedule> parts;
  for (const Schedule& track : tracks()) parts.push_back(track.with_partition(partition));
  return cut.with_tracks(std::move(parts));
}

Schedule Schedule::named(std::string name) const {
  Schedule renamed = *this;
  renamed.name_ = std::move(name);
  return renamed;
}

Schedule tabulate(const Schedule& schedule) {
  struct Table {
    std::vector<std::size_t> begin;  // ranks x rounds + 1 entries, row-major
    std::vector<Op> ops;
  };
  auto table = std::make_shared<Table>();
  Round round;
  table->begin.push_back(0);
  for (Rank r = 0; r < schedule.ranks(); ++r) {
    for (int t = 0; t < schedule.rounds(); ++t) {
      schedule.round(r, t, round);
      table->ops.insert(table->ops.end(), round.ops().begin(), round.ops().end());
      table->begin.push_back(table->ops.size());
    }
  }
  const int rounds = schedule.rounds();
  const auto play = [table, rounds](Rank r, int t, Round& out) {
    const auto row = static_cast<std::size_t>(r) * static_cast<std::size_t>(rounds) +
                     static_cast<std::size_t>(t);
    for (std::size_t i = table->begin[row]; i < table->begin[row + 1]; ++i) out.push(table->ops[i]);
  };
  const Schedule tabulated(schedule.name(), {schedule.ranks(), schedule.chunks(), rounds}, play,
                           schedule.partition(), schedule.runs());
  if (schedule.tracks().empty()) return tabulated;
  std::vector<Schedule> tracks;
  for (const Schedule& track : schedule.tracks()) tracks.push_back(tabulate(track));
  return tabulated.with_tracks(std::move(tracks));
}

}  // namespace collbench

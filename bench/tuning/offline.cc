#include "bench/tuning/offline.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "bench/tuning/race.h"
#include "core/error.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

constexpr double noise_of_tables = 0.03;  // of ln(median)

// Rows compete if they are of one system and library, and do the same.
MethodKey contest_of(const MeasuredTime& time) {
  MethodKey key = method_of(time);
  key.algorithm.clear();
  key.protocol.clear();
  return key;
}

// With what they do, where that is no sum of f32 out of place.
std::string contest_name(const MethodKey& contest) {
  std::string name = contest.system + " " + contest.library;
  if (contest.type != DataType::f32) name += fmt::format(" {}", to_string(contest.type));
  if (contest.op != ReduceOp::sum) name += fmt::format(" {}", to_string(contest.op));
  if (contest.in_place) name += " in place";
  return name;
}

// Our own tables name a library's choice as its back end: "mpi".
bool is_own_choice(const std::string& algorithm) {
  return is_library_default(algorithm) ||
         (algorithm.find(':') == std::string::npos && black_box(algorithm) != nullptr);
}

OfflineRace race_one(const std::string& system, const std::vector<MeasuredTime>& times,
                     double share) {
  std::vector<SurfaceCell> cells;
  for (const MeasuredTime& time : times) cells.push_back({method_of(time), time.scale, time.bytes});
  Race race(cells);
  OfflineRace outcome;
  outcome.system = system;
  outcome.cells = static_cast<int>(times.size());
  const int budget = std::max(1, static_cast<int>(share * static_cast<double>(times.size())));
  const auto cost = [&](std::size_t cell) {
    return race.is_measured(cell) ? std::numeric_limits<double>::infinity() : 1.0;
  };
  while (race.measurements() < budget) {
    const auto next = race.next(cost, noise_of_tables);
    if (!next) break;
    race.measured(next->cell, times[next->cell].time, noise_of_tables);
  }
  outcome.measurements = race.measurements();
  double lost_by_default = 0;
  int with_default = 0;
  int points = 0;
  for (const RacePoint& point : race.points()) {
    const auto least = [&](std::size_t a, std::size_t b) { return times[a].time < times[b].time; };
    const Seconds best = times[*std::min_element(point.begin(), point.end(), least)].time;
    const auto regret = [&](std::size_t cell) { return times[cell].time / best - 1; };
    const double lost = regret(race.choice(point));
    outcome.mean_regret += lost;
    outcome.worst_regret = std::max(outcome.worst_regret, lost);
    ++points;
    for (const std::size_t cell : point) {
      if (!is_own_choice(times[cell].algorithm)) continue;
      lost_by_default += regret(cell);
      ++with_default;
      break;
    }
  }
  outcome.mean_regret /= points;
  if (with_default > 0) outcome.default_regret = lost_by_default / with_default;
  return outcome;
}

}  // namespace

std::vector<OfflineRace> race_offline(const std::vector<MeasuredTime>& rows, double share) {
  require(share > 0 && share <= 1,
          fmt::format("the share must be above 0 and at most 100 %, not {} %", 100 * share));
  std::map<MethodKey, std::vector<MeasuredTime>> contests;
  for (const MeasuredTime& time : medians_of(rows)) {
    if (time.is_wrong()) continue;
    contests[contest_of(time)].push_back(time);
  }
  std::vector<OfflineRace> races;
  for (const auto& [contest, times] : contests) {
    const std::string& first = times.front().algorithm;
    const bool has_choice = std::any_of(times.begin(), times.end(), [&](const MeasuredTime& time) {
      return time.algorithm != first;
    });
    if (has_choice) races.push_back(race_one(contest_name(contest), times, share));
  }
  require(!races.empty(), "no system of the table was measured with two methods to choose from");
  return races;
}

}  // namespace collbench

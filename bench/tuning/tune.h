// Tunes a library's own all-reduce: races what it can play, point by point, writes what won as its
// rules, loads them, and shows by a second race of two that they are obeyed and what they gain.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure/team.h"
#include "bench/records/case.h"
#include "bench/records/record.h"
#include "bench/tuning/race.h"
#include "bench/verdicts/statistics_ranks.h"
#include "heuristics/policies/selection_table.h"

namespace collbench {

/// How a case is measured; scripted in tests.
using MeasureCase = std::function<Measurement(const Case&, const Sampling&)>;

struct TuningPlan {
  std::vector<Case> cells;    // every candidate at every number of workers and size
  std::string library;        // "openmpi"
  std::string own_choice;     // the candidate that leaves it to the library
  bool waits_busily = false;  // as of LibraryTuning
  Seconds budget{60};         // for all measurements of the race
  Seconds timeout{60};        // of a rank
  MeasureCase measure;
  /// Name of the signal that asks to stop, or "".
  std::function<std::string()> stop_requested = [] { return std::string(); };
  std::function<void(const std::string&)> on_progress = [](const std::string&) {};
};

/// The race of the plan's cells, of which nothing is measured yet.
Race race_of(const TuningPlan& plan);

/// What is best at one number of workers and size.
struct TunedPoint {
  Case best;  // of the candidate chosen
  Case own;   // of the library's own choice
  std::size_t best_cell = 0;
  std::size_t own_cell = 0;
  Shift gain{};  // as gain_of() says
  /// Whether the rules change anything here: a gain below 3 %, or one that is mere chance, does
  /// not.
  bool changes = false;
};

struct TuningResult {
  std::vector<TunedPoint> points;  // by workers, then size
  int measurements = 0;
  int cells = 0;            // that there are
  bool is_settled = false;  // before the budget was spent
  std::string stopped_by;
};

/// Spends the budget where it pays. Throws as `measure` does, WrongResult for wrong sums.
TuningResult race_candidates(const TuningPlan& plan, Race& race);

/// Chooses once more, by what was measured since, at the points that the rules leave to the
/// library. Whether the rules now change one of them.
bool choose_again(const TuningPlan& plan, const Race& race, TuningResult& result);

/// ln of the own choice's time over that of `best` by all measurements so far, and its 90 %
/// interval: the gain is above the low end with 95 %.
Shift gain_of(const Race& race, std::size_t own, std::size_t best);

/// The choices as rules: each holds from the geometric mean of its size and the one below. Sizes
/// outside of those measured and other numbers of ranks are left to the library. Requires a point.
SelectionTable rules_of(const TuningResult& result, const std::string& machine);

}  // namespace collbench

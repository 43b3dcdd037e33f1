// Regret: how much slower what a policy chose was than the best that was measured there.
//
//   regret = time(chosen) / time(best) - 1
//
// over the points where at least two algorithms of one library were measured with the same system,
// scale, size, type, operator and place; where runs measured different ones, with times as of a
// usual run (heuristics/run_effects.h). A policy is asked at each point with the measurements that
// it may know: all of them (in sample), all but those of this size (held out), which is how it does
// between the sizes of a table, or those of other tables, which is how it does at scales that were
// not measured.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heuristics/measurement.h"

namespace collbench {

struct RegretPoint {
  MeasuredTime best;
  std::string chosen;  // empty: the policy had no answer, or none that was measured
  Seconds time{0};     // of it
  std::string why_not;
  double regret() const { return time / best.time - 1; }
};

struct RegretSummary {
  int points = 0;
  int unanswered = 0;
  double mean = 0;
  double p95 = 0;
  double worst = 0;
};
/// Unanswered points count only as such.
RegretSummary summarize_regret(std::span<const RegretPoint> points);
/// The same for points of one band of sizes and number of ranks, ascending.
struct RegionRegret {
  std::string band;  // of size_bands: "to 32 KiB"
  int ranks = 0;
  RegretSummary summary;
};
std::vector<RegionRegret> regret_by_region(std::span<const RegretPoint> points);

/// What a policy may know when it is asked.
struct RegretKnowledge {
  bool size_held_out = false;  // not the measurements of the size that it is asked for
  /// Only these, and none of those that it is judged by; unset: the latter.
  std::optional<std::vector<MeasuredTime>> fitted_to{};
};

/// Every policy of heuristics/policies/policy.h by name, `default`: what the library itself took
/// (is_library_default()), and `largest-scale`: the fastest at the largest scale known, at the
/// nearest size. `model` is the fastest by a calibration (heuristics/calibration/fitted_choice.h)
/// to what it may know; where it has only trends it keeps to the default unless it expects to gain
/// 2 %. Throws InvalidArgument with a suggestion for another name.
std::vector<RegretPoint> regret_of(const std::string& policy, std::span<const MeasuredTime> rows,
                                   const RegretKnowledge& knowledge = {});

}  // namespace collbench

// Regret: how much slower what a policy chose was than the best that was measured there.
//
//   regret = time(chosen) / time(best) - 1
//
// over the points where at least two algorithms of one library were measured with the same system,
// scale, size, type, operator and place. A policy is asked at each point with the measurements that
// it may know: all of them, or all but those of this size (held out), which is how it does between
// the sizes of a table.
#pragma once

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

/// Every policy of heuristics/policies/policy.h by name, and `default`: what the library itself
/// took (is_library_default()). `model` is the fastest by the models of
/// heuristics/calibration/calibration.h, fitted to what it may know; it keeps to the default unless
/// it expects to gain 2 %. Throws InvalidArgument with a suggestion for another name.
std::vector<RegretPoint> regret_of(const std::string& policy, std::span<const MeasuredTime> rows,
                                   bool held_out);

}  // namespace collbench

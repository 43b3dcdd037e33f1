// Which of several methods is the fastest by a calibration, with those that are too close to tell.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heuristics/calibration/calibration.h"

namespace collbench {

/// Predicted times closer than this are noise: a batch of measurements repeats no better.
inline constexpr double tie = 0.05;

struct FittedCandidate {
  MethodKey method;
  Estimate estimate;
  Seconds counted{0};       // the time, longer for names that may stand for another schedule
  bool is_tied = false;     // within `tie` of the fastest
  bool may_change = false;  // stand for another schedule than where it was measured
  bool is_kept = false;     // for what it did where it was measured, not for its time
  bool is_default = false;  // kept, as the library's own choice, outside the sizes measured
  bool is_measured = true;  // under this name; else priced by its schedule
};

/// What is reduced, where it is not what the methods were measured with.
struct ReductionAsked {
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
};

/// The methods that the calibration predicts, fastest by `counted` first: measured ones, and those
/// whose schedules it prices. The time of another method is none. Where the fastest was not
/// measured at this very scale, the first of those tied is the one that was the fastest at the
/// largest scale where what is only predicted here was measured; a name that may stand for another
/// schedule there comes first only if all that are tied do. The fastest at that scale, and of those
/// measured at the scale asked for, also stays the choice unless the 80 % interval of the
/// difference says that another one is faster. Where the library's own choice was measured at the
/// scale, it is left outside its sizes for a gain of worth_leaving_default only.
std::vector<FittedCandidate> rank_methods(const Calibration& calibration,
                                          std::span<const MethodKey> methods, const Scale& scale,
                                          Bytes bytes,
                                          std::optional<ReductionAsked> reduction = {});

/// The largest measured scale of several nodes, or of one if there is no other, of equal ones that
/// of the shape asked for: of rows with this
/// system and so many ranks per node, the times at the size nearest to `bytes`.
std::vector<MeasuredTime> times_at_largest_scale(std::span<const MeasuredTime> rows,
                                                 const std::string& system, const Scale& scale,
                                                 Bytes bytes);

}  // namespace collbench

// How the search and the proof of a library's rules measure one cell.
#pragma once

#include <cstddef>

#include "bench/tuning/tune.h"

namespace collbench {

/// What one measurement may take: warming up, the checks and timing.
inline constexpr Seconds cell_time{0.03};
/// A gain in ln(time) below which a rule does not pay.
inline constexpr double worth_a_rule = 0.03;
/// Standard deviations that 95 % lie above; see gain_of().
inline constexpr double one_sided = 1.645;

/// `timeout` of a rank; `check` compares with the right sums.
Sampling sampling_for(Seconds timeout, bool check);
/// Throws WrongResult if a checked measurement has wrong elements.
void require_right(const Measurement& measured, const Case& point);
Seconds median_of(const Measurement& measured);
/// Whether it lies far above what was expected.
bool is_surprising(const TimeSurface& surface, std::size_t cell, const Measurement& measured);

struct CellMeasurement {
  Measurement measured;  // without samples: stopped on the way
  int looks = 0;
};

/// Measures a cell for the race. A pause of the machine lengthens a time by any factor, and would
/// rule the method out at all sizes near, so what lies far above what was expected is measured once
/// more, and the shorter counts. Throws as `plan.measure` does, WrongResult for wrong sums.
CellMeasurement measure_cell(const TuningPlan& plan, Race& race, std::size_t cell);

}  // namespace collbench

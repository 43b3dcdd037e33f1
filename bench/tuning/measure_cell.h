// How the search and the proof of a library's rules measure one cell.
#pragma once

#include <cstddef>
#include <optional>

#include "bench/tuning/tune.h"

namespace collbench {

/// A gain in ln(time) below which a rule does not pay.
inline constexpr double worth_a_rule = 0.03;
/// Standard deviations that 95 % lie above; see gain_of().
inline constexpr double one_sided = 1.645;

/// What one measurement may take: warming up, the checks and timing.
Seconds cell_time(const TuningPlan& plan, const Case& point);
/// `check` compares with the right sums.
Sampling sampling_for(const TuningPlan& plan, const Case& point, bool check);
/// Throws WrongResult if a checked measurement has wrong elements.
void require_right(const Measurement& measured, const Case& point);

struct CellTime {
  Seconds time{};
  double deviation = 0;  // standard, of ln(time)
};

/// The median; where ranks that wait busily share cores, the mean. There an all-reduce takes
/// microseconds, or a turn of the scheduler, or several, and the median jumps from one to the next.
/// Requires samples.
CellTime time_of(const TuningPlan& plan, const Case& point, const Measurement& measured);
/// Whether it lies far above what was expected.
bool is_surprising(const TimeSurface& surface, std::size_t cell, const CellTime& seen);

struct CellMeasurement {
  std::optional<CellTime> seen;  // nothing: stopped on the way
  int looks = 0;
};

/// Measures a cell for the race. A pause of the machine lengthens a time by any factor, and would
/// rule the method out at all sizes near, so what lies far above what was expected is measured once
/// more, and the shorter counts. Throws as `plan.measure` does, WrongResult for wrong sums.
CellMeasurement measure_cell(const TuningPlan& plan, Race& race, std::size_t cell);

}  // namespace collbench

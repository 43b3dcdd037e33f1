// How far times of one point differ from one run to the next.
#pragma once

#include <span>

#include "heuristics/measurement.h"

namespace collbench {

/// Standard deviation of ln(time) among rows of one method, scale and size, of all of them
/// together: the root mean square, where what is beyond three times the median counts as that, so
/// that a single disturbed row in many does not. 0 with fewer than four repeats.
double noise_of_repeats(std::span<const MeasuredTime> rows);

}  // namespace collbench

// Whether measured times are possible: tables that contradict each other, and times that no machine
// reaches.
#pragma once

#include <span>

#include "heuristics/measurement.h"

namespace collbench {

/// Two rows of one method, scale and size should agree; if most of a method do not, two things are
/// mixed up. Rows with wrong results do not count. Throws InvalidArgument, naming the rows farthest
/// apart; also if one scale is slower than another by so much at every size that the unit of its
/// times must differ.
void refuse_contradictions(std::span<const MeasuredTime> rows);

/// Throws InvalidArgument for a time in which no network, or no memory, moves the bytes, or as many
/// messages one after the other as are needed to reach all nodes or ranks.
void refuse_impossible(std::span<const MeasuredTime> rows);

}  // namespace collbench

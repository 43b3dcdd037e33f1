// What whole runs differ by: a job on a slow day, or badly placed, is slower with every algorithm.
//
// Where several runs measured one point, but not the same algorithms, an algorithm of a slow run
// only would look worse than it is. The algorithms that runs share tell by how much one is slower:
//
//   ln time(algorithm, run) = a(algorithm) + r(run)
//
// r of a run is the median over the algorithms that other runs have, too.
#pragma once

#include <span>
#include <vector>

#include "heuristics/measurement.h"

namespace collbench {

/// The rows, those of points at which runs (MeasuredTime::batch) measured different algorithms with
/// times as of a usual run: divided by e^r, where the mean of r over the runs of a point is 0. A
/// point is a system, library, scale, type, operator, place, collective, root and size. Runs that
/// share no algorithm with another keep their times. Order and all else stay.
std::vector<MeasuredTime> without_run_effects(std::span<const MeasuredTime> rows);

}  // namespace collbench

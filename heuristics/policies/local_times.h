// The built-in table of all-reduce times inside one host, with which `auto` chooses until the user
// has measured.
//
// heuristics/policies/local_times.csv: back end, cores, workers, bytes, algorithm, median, lower
// and upper quartile in microseconds, samples; f32, sum, workers pinned one to a core in turn. It
// is part of the library. bench/auto_regret.py --table writes such a file on any machine.
//
// The time of a row is Tukey's trimean, (lower quartile + 2 medians + upper quartile) / 4: with
// more workers than cores some algorithms have two modes, and which of them holds the median
// differs from run to run.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/shipped_file.h"
#include "heuristics/measurement.h"

namespace collbench {

/// The rows for a back end on so many cores; none if that was not measured. The system is "N
/// cores".
std::vector<MeasuredTime> local_times(std::string_view backend, int cores);

/// local_times.csv, as part of the library.
std::span<const ShippedFile> local_times_files();

}  // namespace collbench

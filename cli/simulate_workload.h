// `collbench simulate --workload`: a job's step, or one of a table, on other networks.
#pragma once

#include <span>

#include "cli/settings.h"

namespace collbench {

std::span<const OptionRow> simulated_workload_rows();

/// Plays it on every network, with every number of workers and algorithm, and prints a table.
/// Throws InvalidArgument and Unavailable for what cannot be read or played. Returns the exit code.
int simulate_workload(const Settings& settings);

}  // namespace collbench

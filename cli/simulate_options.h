// The options of `collbench simulate` and `collbench sweep`, and the cases they ask for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/records/case.h"
#include "cli/settings.h"

namespace collbench {

std::span<const OptionRow> simulate_option_rows();
/// Those of simulate, and how a sweep is spread and kept.
std::span<const OptionRow> sweep_option_rows();

/// What --topo names: words separated by ';', so that specifications may hold commas, with their
/// ranges in braces expanded.
std::vector<std::string> simulated_topologies_of(const Settings& settings);

/// The cases, filtered. Throws as simulated_cases and parse_filter do, and InvalidArgument, naming
/// the option and where it was set, for a value that is wrong.
/// `left_out` as for simulated_cases().
std::vector<Case> simulated_cases_of(const Settings& settings,
                                     std::vector<std::string>* left_out = nullptr);

/// The option of `collbench simulate --workload`.
std::span<const OptionRow> simulated_workload_rows();

/// Plays a job's step, or one of a table, on every network, with every number of workers and
/// algorithm, and prints a table. Throws InvalidArgument and Unavailable for what cannot be read or
/// played. Returns the exit code.
int simulate_workload(const Settings& settings);

}  // namespace collbench

// `collbench train --workload`: the steps of a large model on a simulated network.
#pragma once

#include <span>

#include "cli/settings.h"

namespace collbench {

/// The options that only steps of workloads have.
std::span<const OptionRow> workload_option_rows();

/// Whether the settings ask for a workload or for the list of them.
bool asks_for_workload(const Settings& settings);

/// Plays or lists what the settings ask for; returns the exit code. Throws InvalidArgument naming
/// the option that is wrong.
int train_workload(const Settings& settings);

}  // namespace collbench

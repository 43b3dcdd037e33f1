// `collbench train --model NAME --topo SPEC`: real training on simulated workers, and its loss over
// simulated time.
#pragma once

#include <span>

#include "cli/settings.h"

namespace collbench {

/// The options that only such training has.
std::span<const OptionRow> network_option_rows();

/// Trains, prints and writes what the settings ask for; returns the exit code. Throws
/// InvalidArgument naming the option that is wrong.
int train_on_network(const Settings& settings);

}  // namespace collbench

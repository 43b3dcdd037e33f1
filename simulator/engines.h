// The engines behind simulate(), one function each. They check their scenario themselves.
//
// Every one throws InvalidArgument for a scenario that is wrong or does not fit it, and Unavailable
// if this build lacks it. All are reentrant but simgrid: a process has one SimGrid.
#pragma once

#include <cstddef>
#include <string>

#include "simulator/simulate.h"

namespace collbench {

Outcome simulate_fluid(const Scenario& scenario);
/// Throws LittleSymmetry (simulator/refinement.h) if of ranks, links and pairs more than this share
/// differ from all others.
Outcome simulate_quotient(const Scenario& scenario, double most_classes = 1);
Outcome simulate_model(const Scenario& scenario);
Outcome simulate_simgrid(const Scenario& scenario);

/// Throws InvalidArgument unless the scenario hangs together: as many placed ranks as the schedule
/// has, hosts that exist, a count of at least 0, a protocol of the machine's ladder. Stragglers are
/// looked at by start_times().
void check(const Scenario& scenario);

/// Throws InvalidArgument naming `what`, the need and what is available unless `bytes` more fit,
/// with an eighth of the available memory left over. Amounts below 16 MiB are not looked at.
void require_memory(std::size_t bytes, const std::string& what);

}  // namespace collbench

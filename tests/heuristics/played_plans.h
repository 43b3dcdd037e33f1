// Plans of listed networks, played by the engine fluid.
#pragma once

#include <string>

#include "heuristics/synthesis/synthesise.h"

namespace collbench {

/// tests/heuristics/networks/NAME.csv.
std::string path_of(const std::string& name);
Topology shipped_network(const std::string& name);

/// Of the bound of the plan, for an all-reduce of `bytes`.
Seconds bound_of(const SynthesisedPlan& plan, Bytes bytes);
/// The simulated time of a schedule for `bytes` over the bound; of what the plan plays if none is
/// given.
double simulated_over_bound(const SynthesisedPlan& plan, const Schedule& schedule, Bytes bytes);
double simulated_over_bound(const SynthesisedPlan& plan, Bytes bytes);

}  // namespace collbench

// Schedules as GOAL text, the input of LogGOPSim and ATLAHS.
#pragma once

#include <string>

#include "algorithms/schedule.h"
#include "core/units.h"

namespace collbench {

/// Every rank's sends and receives for a vector of `size`; a rank begins a round when it has ended
/// the one before. The tag is the round. Reductions cost nothing here: give them to the simulator
/// as its per-byte overhead O. Empty messages are left out.
/// Throws InvalidArgument unless `size` is a multiple of `element_bytes`.
std::string to_goal(const Schedule& schedule, Bytes size, int element_bytes = 4);

}  // namespace collbench

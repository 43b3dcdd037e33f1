// Scenarios for tests of the simulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/simulate.h"
#include "topologies/networks/networks.h"

namespace collbench {

/// 50 GB/s and 1 us between any two hosts, as in the closed forms of the literature.
Machine plain_star(int hosts);

/// `schedule` on `machine`, rank r on host r, for an empty vector.
Scenario plain_scenario(Schedule schedule, Machine machine);

/// The algorithm `spec` (as on the command line) over `ranks` ranks with a vector of `bytes`.
Scenario plain_scenario(const std::string& spec, int ranks, std::int64_t bytes, Machine machine);

/// A schedule of messages given one by one; receivers do not add.
struct Sent {
  int round;
  Rank from;
  Rank to;
  Chunks chunks;
};
Schedule listed_schedule(int ranks, int chunks, int rounds, std::vector<Sent> messages);

}  // namespace collbench

// What is needed of a scenario before the SimGrid platform is built: routes, memory, and how long
// it takes.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/rank_program.h"
#include "simulator/simulate.h"

namespace collbench {

struct SimgridSurvey {
  /// Pairs of ranks that talk, by sender: the receiver and its path.
  std::vector<std::vector<std::pair<Rank, std::int32_t>>> routes;
  std::int64_t messages = 0;
  double seconds = 0;  // the order of magnitude of the simulated time
};

/// Goes through all turns, so that the program knows all routes afterwards. Throws InvalidArgument
/// if sends and receives do not match, if ranks that talk share a host, or if the actors and their
/// plans would not fit into memory.
SimgridSurvey simgrid_survey(RankProgram& program, const Scenario& scenario);

}  // namespace collbench

// A slow simulator of flows for tests: everything is computed anew at every event, by other means
// than simulator/fair_share.h, so that equal results speak for both.
#pragma once

#include <vector>

#include "simulator/simulate.h"

namespace collbench {

struct ReferenceResult {
  std::vector<double> rank_end;
  std::vector<double> link_bytes;
  std::vector<double> link_busy;
};

/// Plays a scenario as simulator/program.h defines it. Takes the square of the messages, at least.
ReferenceResult reference_flows(const Scenario& scenario);

}  // namespace collbench

// The fluid engine on classes of ranks that behave alike, with periodic rounds extrapolated.
//
// Exact: the partition is equitable (simulator/symmetry.h), so all members of a class do the same
// at the same times. Symmetry is found and never assumed: stragglers, slow links, uneven chunks or
// an odd network split classes, down to one rank each, which is what engine fluid plays. Uneven
// chunks also make all rounds differ, so that long rings need chunks of equal size.
#pragma once

#include "simulator/simulate.h"

namespace collbench {

/// As simulate_quotient(), with figures of how it went.
struct QuotientOutcome {
  Outcome outcome;
  int link_classes = 0;
  int pair_classes = 0;     // of ranks that talk
  int distinct_rounds = 0;  // that were looked at
  int rounds_skipped = 0;   // that were extrapolated
};
QuotientOutcome play_quotient(const Scenario& scenario);

}  // namespace collbench

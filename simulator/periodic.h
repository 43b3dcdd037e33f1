// Plays a program whose rounds repeat without playing all repetitions.
//
// Within a run of rounds of equal pattern, the play is watched for a period: P rounds after which
// every position enters its rounds later by the same time, over a window of rounds longer than any
// flow lives. The active flows of the window, hence all rates, are then those of P rounds before,
// so the play goes on like this until the run ends: whole periods are left out and their time is
// added. Times are the same if they differ by what rounding explains.
#pragma once

#include "simulator/flows.h"
#include "simulator/program.h"

namespace collbench {

/// As play(). Ends and busy times are those of the whole program; `flows`, `transfers` and bytes of
/// links are of what was played. Requires options without a watch and without ends of rounds.
FlowReport play_periodic(Program& program, FlowOptions options);

}  // namespace collbench

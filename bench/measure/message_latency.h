// How long a message takes, asked of the ranks themselves: a schedule made for a network that gives
// no latencies would otherwise be cut so finely that its messages cost more than their bytes.
#pragma once

#include "bench/measure/team.h"
#include "bench/records/case.h"
#include "heuristics/policies/choose.h"

namespace collbench {

/// If `choice` is `synth` and neither it nor its network gives a latency, the same with one that is
/// measured: a small all-reduce takes so long for each of its rounds, and a message passes so many
/// links to the nearest host. Its reason says so. Any other choice is given back, as is that of a
/// case with injected faults, which are meant for the measurement. Ranks that decide each for
/// itself, from the same measurement, decide the same. Throws as Team::measure.
Choice with_message_latency(const Case& point, Choice choice, const Sampling& sampling, Team& team);

}  // namespace collbench

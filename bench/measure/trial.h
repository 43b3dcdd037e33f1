// What is measured before a case to decide what it plays: the latency that `synth` may need, and
// the trial of `auto`, in which the policy's choice and the algorithms that may be as fast take
// turns on the workers for a moment, and the fastest is taken.
//
// Turns alternate, so drift affects all candidates alike, and a candidate that is clearly behind
// drops out. An algorithm is judged by Tukey's trimean of its samples, since with more workers
// than cores some have two modes. Differences within the noise leave the policy's choice in place.
// Everything rests on measured times alone: ranks that decide each for itself, from the same
// measurement, decide the same.
#pragma once

#include <functional>

#include "bench/measure/team.h"
#include "bench/records/case.h"
#include "heuristics/policies/choose.h"

namespace collbench {

/// `choice` or one of its rivals, with the times in its reason. Plays nothing for a choice without
/// rivals, for a sampling without a trial, and for a case with injected faults, which are meant for
/// the measurement; gives up where one all-reduce is too slow to try others. `stopped` is asked
/// before every turn: once it is true `choice` is given back. Throws as Team::measure; a rival that
/// is refused drops out.
Choice try_out(const Case& point, const Choice& choice, const Sampling& sampling, Team& team,
               const std::function<bool()>& stopped);

/// If `choice` is `synth` and neither it nor its network gives a latency, the same with one that is
/// measured: a small all-reduce takes so long for each of its rounds, and a message passes so many
/// links to the nearest host. Its reason says so. Any other choice is given back, as is that of a
/// case with injected faults, which are meant for the measurement. Ranks that decide each for
/// itself, from the same measurement, decide the same. Throws as Team::measure.
Choice with_message_latency(const Case& point, Choice choice, const Sampling& sampling, Team& team);

}  // namespace collbench

// All-reduces in which some ranks join late: the others add up meanwhile.
//
// A late rank then sends its vector towards the roots, which hold the sums of the others, and the
// results spread while it still sends: what follows its coming takes the time of one vector over
// its links, not two. What the others have no time to add up before waits. Source: StragglAR (arXiv
// 2505.23523), whose schedule is for one late rank among equals that is late enough; here trees do
// it on any network, for any late ranks and any delay.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heuristics/synthesis/synthesise.h"

namespace collbench {

struct LatePlan {
  SynthesisedPlan plan;     // with late ranks, or the usual one where that is as fast
  SynthesisedPlan waiting;  // the usual one
  Delays delays;
  Seconds early;      // what the others take before
  Seconds after;      // what follows the last one's coming
  Seconds usual;      // the same with the all-reduce that waits for all
  Seconds at_least;   // no schedule takes less after it: the last one's vector has to leave it and
                      // the sums to enter it, and all together takes no less than with none late
  Seconds played{0};  // `after` and `usual` as a simulation has them, latencies included;
  Seconds played_waiting{0};  // 0: not played
  bool adds_up_early() const { return !plan.packing.late.empty(); }
};

/// Times are by the fullest links, without latencies, for a vector of `bytes`. Throws
/// InvalidArgument for ranks that do not exist, are named twice or are all late, and where the
/// others cannot reach each other. `equal_trees` as synthesise() has it.
LatePlan synthesise_late(const Topology& topology, const Delays& delays, Bytes bytes,
                         int equal_trees = 0);

/// Plays what adds up early on the machine, with 1, 2 and 4 tracks and as many as suit, or with
/// `tracks` if that is not 0, and what waits for all; the plan becomes the fastest of them. The
/// times by the fullest links cannot decide that: they know neither latencies nor how ranks of the
/// two phases wait for each other. Schedules of too many messages are not played; that of as many
/// tracks as suit then stands where fewer are faster than waiting.
void choose_by_playing(LatePlan& late, const Machine& machine, Bytes bytes, int tracks,
                       const PlayLate& play);

std::string to_text(const LatePlan& late);

}  // namespace collbench

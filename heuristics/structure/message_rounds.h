// The rounds of what is played over a switched network, as closed forms: how often a message of
// which size goes how far, and how much of it is reduced.
//
// Distances are read from the registry's schedules. The rest is not, because a choice among
// thousands of ranks must take milliseconds; what is a schedule there is tested to be the same.
#pragma once

#include <vector>

#include "heuristics/structure/played_method.h"

namespace collbench {

/// Rounds that are alike.
struct MessageRound {
  double count = 1;
  double bytes = 0;     // sent by the busiest rank
  double reduced = 0;   // bytes reduced by it
  double distance = 1;  // in ranks, between partners
  double segments = 1;  // that the message is cut into, one after the other
  bool posted = false;  // segments are started together and not waited for one by one
};

/// Requires a form of switched networks that is no choice (played_for() gives those), ranks >= 2.
/// Ranks beyond a power of two fold into it first, as MPICH's algorithms do.
std::vector<MessageRound> message_rounds(const PlayedMethod& played, int ranks, double bytes);

}  // namespace collbench

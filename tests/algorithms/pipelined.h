// A combinator with which tests compose what algorithms/tree.cc computes directly.
#pragma once

#include "algorithms/schedule.h"

namespace collbench {

/// Cuts the buffer into `segments` equal parts; part s runs the whole schedule s rounds later, so
/// that rounds() + segments - 1 rounds carry all of them (a train per tree edge).
Schedule pipelined(const Schedule& schedule, int segments);

}  // namespace collbench

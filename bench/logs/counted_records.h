// Logs that do not number their collectives: which of one rank's belongs to which of another's.
//
// All ranks of an all-reduce, all-gather or reduce-scatter end together, each by its own clock. So
// between two ranks of a group the difference of ends is the same for all collectives, up to what
// the clocks drift from one to the next, and only if none of either rank is skipped.
#pragma once

#include "bench/logs/job_log.h"

namespace collbench {

/// For communicators whose records are counted (JobCommunicator::counted): shifts the numbers of a
/// rank whose trace began earlier or later, and makes communicators of their own for ranks that do
/// not end together where the log does not state the ranks of a group. What still does not end
/// together is counted in `left_out` and loses its durations, which would compare collectives that
/// have nothing to do with each other. To be called once, when all logs of a job are read.
void match_counted_records(JobLog& job);

}  // namespace collbench

// How much of the communication was not hidden behind computing, from traces that have both.
#pragma once

#include <vector>

#include "bench/logs/job_log.h"

namespace collbench {

/// By rank of the job.
struct Exposure {
  double communication_us = unknown_time;  // the time in which some collective ran
  double exposed_us = unknown_time;        // of it, without any computing beside it
};

/// Of `ranks` ranks; unknown for those without computing in their log, and where a rank of the job
/// has no number. Overlapping collectives, and overlapping kernels, count once. O(n log n).
std::vector<Exposure> exposures_of(const JobLog& job, int ranks);

}  // namespace collbench

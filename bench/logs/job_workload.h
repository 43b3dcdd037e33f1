// A training step out of a job's logs, as a workload that `train --workload` replays on other
// networks and at other scales, with other algorithms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/logs/job_log.h"
#include "training/workloads/workload.h"

namespace collbench {

struct JobWorkload {
  Workload workload;
  int communicator = 0;              // of JobLog::communicators
  int steps = 0;                     // that the logs hold
  std::vector<std::int64_t> bytes;   // of each bucket in its order, as logged
  std::vector<std::string> remarks;  // what was assumed or left out
};

/// The step of the communicator that moves the most in all-reduces: the shortest run of sizes that
/// repeats. A bucket becomes a layer, the first of a step the last one; its elements are counted as
/// f32. Times are what the rank computed that most often arrived after a pause, whose arrivals are
/// therefore its own; without a clock there are none. Durations of collectives never become part of
/// it. Requires sorted records, as judge_job() leaves them. Throws InvalidArgument without an
/// all-reduce.
JobWorkload workload_of_job(const JobLog& job);

}  // namespace collbench

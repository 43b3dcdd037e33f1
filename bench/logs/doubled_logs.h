// Logs of one run in two formats: Inspector's files beside NCCL_DEBUG's, a profiler's trace beside
// Flight Recorder's dumps. Their collectives are the same and count once.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "bench/logs/operations.h"

namespace collbench {

struct DoubledLogs {
  std::set<std::string_view> counts;  // formats whose collectives another has as well
  std::set<std::string_view> times;   // and those whose times another has as well
};

/// Two formats are of one run if nine tenths of the collectives of the one with fewer are in the
/// other, by kind and size. Says so in the job's notes.
DoubledLogs doubled_logs(JobLog& job, const std::vector<JobOperation>& operations);

}  // namespace collbench

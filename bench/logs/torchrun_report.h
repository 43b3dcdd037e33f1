// What torchrun writes when a job ends: which rank failed first, and how.
// Source: pytorch/pytorch, torch/distributed/elastic/multiprocessing/errors.
#pragma once

#include <string>
#include <string_view>

#include "bench/logs/job_log.h"

namespace collbench {

/// Reads the lines of "Root Cause (first observed failure):" among others: "rank : 3 (local_rank:
/// 3)", "exitcode : -9 (pid: 812)". A rank that was killed is missing by what the log says, unless
/// the job was told to end (SIGTERM).
class TorchrunReport {
 public:
  explicit TorchrunReport(JobLog& job) : job_(job) {}
  /// A line without what a launcher puts before it.
  void take(std::string_view line);
  /// How the job ended, "by signal 11, rank 3 first"; empty if the report is not there, or if a
  /// watchdog ended it.
  const std::string& ended() const { return ended_; }

 private:
  JobLog& job_;
  bool is_in_it_ = false;
  int rank_ = -1;
  std::string host_;
  std::string ended_;
};

}  // namespace collbench

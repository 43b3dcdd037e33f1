// What the readers make of one log.
#pragma once

#include <string>

#include "bench/logs/log_readers.h"

namespace collbench {

inline JobLog job_logged(const std::string& output) {
  JobLog job;
  read_log(output, "job.out", job);
  return job;
}

}  // namespace collbench

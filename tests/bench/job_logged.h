// What the readers make of one log.
#pragma once

#include <string>

#include <fmt/format.h>

#include "bench/logs/log_readers.h"

namespace collbench {

inline JobLog job_logged(const std::string& output) {
  JobLog job;
  read_log(output, "job.out", job);
  return job;
}

/// Of 1 MiB, of a process that is rank `rank` of the job.
inline void add_record(JobLog& job, const std::string& communicator, int ranks, int rank,
                       int sequence, double duration_us,
                       RecordState state = RecordState::completed) {
  LogRecord& record = job.records.emplace_back();
  record.communicator = job.communicator(communicator, communicator, ranks);
  record.rank = rank;
  record.process = job.process(fmt::format("pid {}", rank));
  job.processes[static_cast<std::size_t>(record.process)].rank = rank;
  record.kind = LoggedKind::all_reduce;
  record.state = state;
  record.sequence = sequence;
  record.bytes = 1 << 20;
  record.duration_us = duration_us;
}

}  // namespace collbench

// A job's records in the formats of other tools, a file per rank: what one tool wrote can be read
// by another, and verdicts can be tried on jobs with a known truth.
#pragma once

#include <string>

#include "bench/logs/job_log.h"

namespace collbench {

/// NCCL Inspector's lines (v4.0), as rank<r>.log in `folder`, which is made if it is not
/// there. Times are whole microseconds, as NCCL writes them; records without a duration are left
/// out, as it does. Throws Unavailable if the folder cannot be written.
void write_inspector_files(const JobLog& job, const std::string& folder);

/// PyTorch Flight Recorder's JSON (version 2.10), as fr_rank_<r>.json, with states and durations.
/// Sizes are in elements of f32. Throws likewise.
void write_flight_recorder_files(const JobLog& job, const std::string& folder);

}  // namespace collbench

// The judgement of a job's logs: the figures of its collectives, network, late ranks, standstill,
// and the causes that speak for themselves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/logs/exposure.h"
#include "bench/logs/job_log.h"
#include "bench/logs/lateness.h"
#include "bench/logs/network_rate.h"
#include "bench/logs/operations.h"
#include "bench/logs/standstill.h"
#include "heuristics/diagnosis/causes.h"

namespace collbench {

/// The collectives of one communicator, kind, size and whatever else the log tells apart.
struct SizeFigures {
  int communicator = 0;
  LoggedKind kind = LoggedKind::other;
  std::int64_t bytes = 0;
  std::uint8_t algorithm = 0;  // of JobLog::words; 0: not said
  std::uint8_t protocol = 0;
  std::uint8_t elements = 0;
  std::int64_t operations = 0;
  double transfer_us = unknown_time;  // mean
  double duration_us = unknown_time;  // mean over operations and ranks, with the waiting
  double bus_gbs = unknown_time;      // of the transfer
};

struct JobVerdict {
  std::vector<SizeFigures> sizes;
  NetworkVerdict network;
  Lateness lateness;
  Standstill standstill;
  std::vector<FoundCause> causes;
  // Of the all-reduces, or of the kind that most are of where there are none; by rank of the job,
  // NaN for ranks without durations.
  LoggedKind kind = LoggedKind::all_reduce;
  std::int64_t operations = 0;
  std::int64_t bytes = 0;
  // Of those that rank 0 has a duration of.
  std::int64_t operations_of_rank0 = 0;
  double transfer_us_of_rank0 = unknown_time;  // sum
  std::vector<double> mean_wait_us;
  std::vector<double> duration_us;      // sum
  std::vector<Exposure> exposures;      // empty: the logs hold no computing
  std::vector<double> clock_offset_us;  // against the first rank; empty: no clocks
  /// Names of processes by the numbers that stand for ranks which no log says (JobRanks::counted).
  std::map<int, std::string> counted_ranks;

  /// The late rank, where it is one.
  std::optional<int> late() const;
  bool is_healthy() const;  // nothing was found that holds the job up
};

/// Sorts the records of `job` and counts in its `left_out` what cannot be used. Throws
/// InvalidArgument for an expectation that cannot be read.
JobVerdict judge_job(JobLog& job, const NetworkExpectation& expectation);

/// What hosts and settings say by themselves; part of judge_job(). What a cause rests on goes to
/// the job's notes.
void find_causes(JobLog& job, const JobRanks& ranks, JobVerdict& verdict);

}  // namespace collbench

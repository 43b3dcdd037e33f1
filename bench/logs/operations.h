// The collectives of a job: the records that all ranks have of one, joined.
//
// Ranks are matched by communicator, kind and sequence number, which needs no common clock. All
// ranks of an all-reduce end together and each begins when it arrives, so of the durations d(r)
//
//   transfer = min over r of d(r),   waiting of r = d(r) - transfer,   last to arrive = argmin d(r)
//
// which is exact where every rank's record is there, and an upper bound of the transfer otherwise.
// Where the log has one clock for all ranks, the last to arrive is seen itself, and a processor
// that is busy when it could go on is not taken for one that arrives late:
//
//   last to arrive = argmax start(r), transfer = its duration, waiting of r = max start - start(r)
//
// Where it also says how long each rank was at its own work before, the last to arrive is to blame
// as far as that was longer than the work of the one that waits: all else it was held up itself,
// without a processor or in the collective before.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/logs/job_log.h"

namespace collbench {

struct JobOperation {
  std::span<const LogRecord> records;   // of the ranks that have one, ascending
  double transfer_us = unknown_time;    // least duration; NaN if there is none to compare
  int last = -1;                        // the rank in the communicator that has it
  double last_start_us = unknown_time;  // when that was, on a clock of all; NaN: there is none
  float last_own_us = std::numeric_limits<float>::quiet_NaN();  // and how long at its own work
  bool timed_by_all = false;  // every rank whose log is there has a duration here

  /// How long a rank with a duration waited for the last to arrive.
  double waiting_us(const LogRecord& record) const {
    return std::isnan(last_start_us) ? record.duration_us - transfer_us
                                     : last_start_us - record.start_us;
  }
  /// Of that, what the last to arrive is to blame for.
  double blamed_us(const LogRecord& record) const {
    const double waiting = waiting_us(record);
    const double longer = last_own_us - record.own_us;
    return std::isnan(longer) ? waiting : std::clamp(longer, 0.0, waiting);
  }
  const LogRecord& any() const { return records.front(); }
  /// Collectives that it stands for, at least 1.
  std::int64_t weight() const { return records.front().count > 1 ? records.front().count : 1; }
};

/// Of an all-to-all: whether each rank has as much for each, and all have as much.
bool have_equal_parts(std::span<const LogRecord> records);

/// Whether more ranks than a communicator has are in its records: several that bear one name, or
/// that one call uses.
bool is_several(const JobCommunicator& communicator, const std::vector<int>& heard);

/// Sorts the records of `job`, which the operations refer to, and counts in its `left_out` what
/// repeats a sequence number or differs in size between ranks. O(n log n).
std::vector<JobOperation> operations_of(JobLog& job);

/// The names of ranks: where a record's rank stands in the whole job.
class JobRanks {
 public:
  explicit JobRanks(const JobLog& job);
  /// By the members of the communicator if a log lists them, else the rank that the process has in
  /// the communicator of all processes, else its number in counted(), else (a process that drives
  /// several ranks, or none that is known) the rank in the communicator.
  int in_job(const LogRecord& record) const;
  int in_job(int communicator, int rank) const;
  int count() const { return count_; }  // 0: not known
  /// Processes whose rank in the job nothing says, since no communicator here has all of them:
  /// their names by the numbers that they were given in the order of the logs.
  const std::map<int, std::string>& counted() const { return counted_; }
  /// Ranks of a communicator whose logs are there, in it: not those with a few records of many.
  const std::vector<int>& heard(int communicator) const {
    return heard_[static_cast<std::size_t>(communicator)];
  }
  /// By rank in the communicator; -1: not known.
  const std::map<int, int>& processes(int communicator) const {
    return process_of_[static_cast<std::size_t>(communicator)];
  }
  /// "rank 2 (synth-b pid 7301)".
  std::string name(int rank_in_job) const;
  /// The host that has these ranks and no others; empty: there is none, or the log does not say it.
  std::string host_of(const std::vector<int>& ranks_in_job) const;

 private:
  void take_ranks_of_worlds();
  void count_others();

  const JobLog* job_;
  std::vector<int> by_process_;
  std::vector<std::vector<int>> heard_;
  std::vector<std::map<int, int>> process_of_;  // by communicator and rank; -1: not known
  std::map<int, std::string> counted_;
  std::map<int, int> process_of_rank_;  // of the job
  int count_ = 0;
};

/// For communicators whose records are counted (JobCommunicator::counted): shifts the numbers of a
/// rank whose trace began earlier or later, and makes communicators of their own for ranks that do
/// not end together where the log does not state the ranks of a group. What still does not end
/// together is counted in `left_out` and loses its durations, which would compare collectives that
/// have nothing to do with each other. To be called once, when all logs of a job are read.
void match_counted_records(JobLog& job);

/// Formats of logs of one run that have the same collectives, which count once.
struct DoubledLogs {
  std::set<std::string_view> counts;  // formats whose collectives another has as well
  std::set<std::string_view> times;   // and those whose times another has as well
};

/// Two formats are of one run if nine tenths of the collectives of the one with fewer are in the
/// other, by kind and size. Says so in the job's notes.
DoubledLogs doubled_logs(JobLog& job, const std::vector<JobOperation>& operations);

}  // namespace collbench

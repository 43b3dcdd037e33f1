// What ranks the waiting of a job's operations is blamed on, and which ranks share it: the steps
// from which lateness.cc concludes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "bench/logs/job_waits.h"

namespace collbench {

struct Blame {
  double waiting_us = 0;  // of all other ranks, bounded
  std::int64_t operations = 0;
  std::int64_t present = 0;  // operations that the rank has a duration of
};

struct LatenessTally {
  std::map<int, Blame> by_rank;   // of the job
  double blamed_waiting_us = 0;   // of all others, summed, that their last rank is to blame for
  double any_waiting_us = 0;      // with what it is not
  double waiting_us = 0;          // what it is to blame for, bounded for each operation
  double waiting_squared = 0;     // of one operation, summed
  double mean_waiting_us = 0;     // mean over the others, summed over operations
  double bounded_waiting_us = 0;  // likewise, without what one operation has beyond its bound
  double transfer_us = 0;
  std::int64_t operations = 0;
  std::int64_t waited = 0;
  std::size_t members = 0;  // ranks, with those whose logs are missing
  bool timed = false;       // there are durations
  bool of_means = false;
};

LatenessTally tally_of(const JobWaits& job, const std::vector<JobOperation>& operations);

/// Whether records of all ranks are there: none that is missing can be the late one.
bool all_are_heard(const JobLog& job, const std::vector<JobOperation>& operations,
                   const JobRanks& ranks);

/// The ranks with most of the blame until they have four fifths of it.
std::vector<int> blamed_most(const LatenessTally& tally);

/// Whether so much of the blame would seldom fall on `group` of all members by chance: if each
/// operation had any of them last. A few long waits count as few operations. One of as many
/// `questions`.
bool is_seldom_chance(const LatenessTally& tally, const std::vector<int>& group,
                      std::size_t questions);

/// Two ranks of eight that are last by turns are late together; two of three are chance. One that
/// is last by turns with others waits itself then, and is not late together with them.
bool is_together(const std::vector<int>& group, const std::vector<JobOperation>& operations,
                 const JobRanks& ranks, std::size_t all);

/// `group` and the ranks that come as late: where it holds others up they hardly wait.
std::vector<int> with_companions(const std::vector<int>& group,
                                 const std::vector<JobOperation>& operations, const JobRanks& ranks,
                                 std::size_t all);

}  // namespace collbench

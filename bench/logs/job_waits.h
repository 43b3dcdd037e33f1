// How long the ranks of a job wait, in each operation and in all: the facts from which lateness.h
// tells which rank is late.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/logs/network_rate.h"
#include "bench/logs/operations.h"

namespace collbench {

// Of what others wait in the mean; a rank that waits more was held up itself.
inline constexpr double hardly_waiting_share = 0.2;

/// Ends of one operation differ between ranks by a few microseconds, small ones by a tenth.
bool is_noticeable(double waiting_us, const JobOperation& operation);

/// Whether its records tell which rank came last.
bool is_compared(const JobOperation& operation);

/// The operations from `begin` on that are of one communicator and kind.
std::size_t end_of_run(const std::vector<JobOperation>& operations, std::size_t begin);

/// What the last to arrive is to blame for, of the rank that waits the longest.
double longest_blamed_us(const JobOperation& operation);

/// All operations, and what each rank waits in them.
struct JobWaits {
  const JobLog& log;
  const std::vector<JobOperation>& operations;
  const JobRanks& ranks;
  const NetworkVerdict& network;
  double bound_us = 0;             // of the longest wait of an operation
  std::map<int, double> waits_us;  // by rank, bounded

  /// What an operation counts for, of what was waited in it.
  double part_of(double longest_us) const {
    return longest_us > bound_us ? bound_us / longest_us : 1;
  }
  bool is_at_full_speed() const { return network.state == NetworkState::healthy; }
  bool may_have_slow_link() const { return !is_at_full_speed() || network.assumed; }
};

JobWaits waits_of_job(const JobLog& log, const std::vector<JobOperation>& operations,
                      const JobRanks& ranks, const NetworkVerdict& network);

/// Those of `group` that hardly wait in any of their communicators. A rank that is held up in one
/// of them comes late to the next.
std::vector<int> hardly_waiting(const std::vector<int>& group, const JobWaits& job);

/// What a rank waits where another holds it up.
struct Waits {
  double own_us = 0;
  double usual_us = 0;  // mean of the other ranks
  std::int64_t operations = 0;
};

/// By rank, in the operations to which one of `group` came last.
std::map<int, Waits> waits_for(const std::vector<int>& group,
                               const std::vector<JobOperation>& operations, const JobRanks& ranks);

/// Behind a slow link two ranks end together, and those of a ring of four or more one after the
/// other, the second half as late as the last. For one that comes late all wait alike.
bool all_others_wait_alike(const std::vector<int>& group,
                           const std::vector<JobOperation>& operations, const JobRanks& ranks);

/// Without the first operation of each communicator and kind in which a rank waits ten times as
/// long as in any other: it waits for the start of the job. The longest goes to `slow_start`, in
/// words.
std::vector<JobOperation> without_slow_starts(const JobLog& log,
                                              const std::vector<JobOperation>& operations,
                                              const JobRanks& ranks, std::string& slow_start);

}  // namespace collbench

// Collectives that have not ended: which one all wait in, and which ranks have not come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/logs/operations.h"

namespace collbench {

struct Standstill {
  std::optional<std::int64_t> sequence;  // of the first collective that has not ended
  std::string communicator;              // its name
  std::vector<int> missing;              // ranks of the job that have not issued it
  /// Ranks that have not issued what others wait in, in other communicators, and wait in nothing.
  std::vector<int> missing_elsewhere;
  /// Ranks that have issued it and whose kernel has not started, where that of others has.
  std::vector<int> not_started;
  bool started_by_all = false;  // the kernels of all members are in it
  std::vector<int> unheard;     // members without a log, or with one that was cut before it
  bool some_are_cut = false;    // of those
  bool may_go_on = false;       // the log ends there, of a job that may have run on
  std::vector<int> behind;      // ranks that have issued fewer collectives than others, by counters
  std::int64_t behind_by = 0;   // the most that one of them lacks
  bool counted_in_logs = false;  // which may end early
  /// Counters are read while the job runs, at a time for each rank, and hosts run ahead of each
  /// other by the calls of a step: whoever is behind may be on its way.
  bool may_be_on_its_way() const { return behind_by > 0; }
  std::vector<std::string> mismatches;  // ranks that call different collectives there, in words
  /// Ranks whose counters say that they called what others did not, and the reverse, in words.
  std::vector<std::string> called_others;
  std::vector<std::string> transfers;  // sends and receives that have not ended, one a rank
  std::vector<int> waited_for;         // their peers that have a log and nothing open in it
};

/// What is known of the first collective that has not ended, as the end of a sentence on it: "not
/// issued by rank 3".
std::string standstill_words(const Standstill& still);

/// Of the sends and receives that have not ended; empty if there are none.
std::string transfer_words(const Standstill& still);

/// From the states of records and the counters of the job.
Standstill standstill_of(const JobLog& job, const JobRanks& ranks);

}  // namespace collbench

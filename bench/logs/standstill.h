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
  /// Ranks that have issued it and whose kernel has not started, where that of others has.
  std::vector<int> not_started;
  bool started_by_all = false;  // the kernels of all members are in it
  std::vector<int> unheard;     // members without a log
  std::vector<int> behind;      // ranks that have issued fewer collectives than others, by counters
  std::int64_t behind_by = 0;   // the most that one of them lacks
  /// Counters are read while the job runs, at a time for each rank: one operation behind is usual.
  bool may_be_on_its_way() const { return behind_by == 1; }
  std::vector<std::string> mismatches;  // ranks that call different collectives there, in words
};

/// What is known of the first collective that has not ended, as the end of a sentence on it: "not
/// issued by rank 3".
std::string standstill_words(const Standstill& still);

/// From the states of records and the counters of the job.
Standstill standstill_of(const JobLog& job, const JobRanks& ranks);

}  // namespace collbench

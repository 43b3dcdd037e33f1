// When folds become complete: how many contributions each chunk of each rank holds, round by round.
#pragma once

#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

/// Which of one rank's reductions finish the sum of all ranks.
struct Completion {
  /// rounds x chunks entries, row-major: the rank reduced this chunk in this round, and it then
  /// held all contributions.
  std::vector<bool> completes;
  int chunks = 0;
  /// Every operation that reduces, on every rank, completes all of its chunks or none of them.
  bool whole_operations = true;

  bool at(int round, int chunk) const {
    return completes[static_cast<std::size_t>(round) * static_cast<std::size_t>(chunks) +
                     static_cast<std::size_t>(chunk)];
  }
};

/// Plays the schedule on contribution counts. Requires a verified schedule. O(all operations).
Completion find_completion(const Schedule& schedule, Rank rank);

}  // namespace collbench

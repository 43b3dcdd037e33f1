// Whether ranks that seem late may be held up themselves, by sends that the log does not show.
//
// The stages of a pipeline pass on to each other what they compute, and whoever holds up one of
// them holds up the next. Where a log has no sends, two patterns may be of a pipeline:
//
//   - parts of the job that no communicator joins have late ranks at the same place of theirs
//   - to a communicator of all the parts come one after the other, in their order and evenly: the
//     first stage ends a step last. Of two parts one always comes first, which says as little.
#pragma once

#include <string>
#include <vector>

#include "bench/logs/job_waits.h"

namespace collbench {

/// Why the ranks of `late` may be held up by single others; empty: nothing speaks for it, or the
/// log says how long each was at its own work.
std::string doubt_of_sends(const JobWaits& job, const std::vector<int>& late);

}  // namespace collbench

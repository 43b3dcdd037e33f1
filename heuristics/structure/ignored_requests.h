// Rows of a method that the library did not play: in one run the request for it was ignored.
#pragma once

#include <string>
#include <vector>

#include "heuristics/measurement.h"

namespace collbench {

/// The rows without those of a named method that, in one batch, took the time of the library's own
/// choice (within 4 % at 85 % of at least five sizes), though in another batch of the same scale
/// and build it did not; what was left out is added to `notes`. The order of the rows does not
/// matter.
std::vector<MeasuredTime> without_ignored_requests(std::vector<MeasuredTime> rows,
                                                   std::vector<std::string>& notes);

}  // namespace collbench

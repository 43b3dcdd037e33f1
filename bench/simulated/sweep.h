// The cross product of the parameters of simulated cases: machines, algorithms, workers, sizes and
// how messages travel.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/measure/sweep.h"
#include "bench/records/case.h"

namespace collbench {

/// The axes. Requires at least one value of each, except workers: none means one per host.
struct SimulatedSweep {
  std::vector<std::string> topologies;  // as machine() reads them
  std::vector<std::string> mappings{"row-major"};
  std::vector<std::string> postings{"eager"};
  std::vector<std::string> protocols{"auto"};
  Sweep axes;  // algorithms, workers, sizes and everything that does not vary
};

/// Replaces each {..} of a text by every value it lists: "{2,4}" and ranges as worker counts are
/// written, "{1:4}" and "{2:16:x2}". "cluster:{1,2}xdgx-h100" gives two texts; several braces give
/// their product. Throws InvalidArgument for braces that do not match or list nothing.
std::vector<std::string> expand_braces(
    const std::string& text,
    const std::function<std::vector<int>(const std::string& range)>& read_range);

/// All cases, by machine, then workers, size and algorithm. "all" as algorithm leaves out schedules
/// that do not fit; every other combination is proven possible by making machine and schedule.
/// An algorithm that does not fit somewhere, but fits elsewhere in the sweep, is left out there,
/// and `left_out` gets a line that says why. Throws InvalidArgument, saying what would be possible,
/// for one that fits nowhere, and always where `left_out` is null.
std::vector<Case> simulated_cases(const SimulatedSweep& sweep,
                                  std::vector<std::string>* left_out = nullptr);

}  // namespace collbench

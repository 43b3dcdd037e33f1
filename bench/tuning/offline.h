// The race of tune on a table of measured times instead of a machine, so that what it loses against
// a search of the whole table can be judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heuristics/measurement.h"

namespace collbench {

struct OfflineRace {
  std::string system;  // and library, type, operator and place
  int cells = 0;       // times in the table
  int measurements = 0;
  double mean_regret = 0;  // over points, time of the choice over the least, less 1
  double worst_regret = 0;
  std::optional<double> default_regret;  // mean, of the library's own choice; none was measured
};

/// One race for each system, library, type, operator and place of which at least two methods were
/// measured. Looks at no
/// more than `share` of its times. Throws InvalidArgument for a share outside (0, 1], and if there
/// is no such system.
std::vector<OfflineRace> race_offline(const std::vector<MeasuredTime>& rows, double share);

}  // namespace collbench

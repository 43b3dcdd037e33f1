// Strategies whose replicas are threads of this process.
#pragma once

#include <string>
#include <vector>

#include "cli/settings.h"
#include "training/replica.h"

namespace collbench {

/// The cores that --devices names, each once; none if it is not given. Throws InvalidArgument, for
/// duplicates in TensorFlow's words.
std::vector<int> devices_of(const Settings& settings);

/// Trains `workers` replicas, on `cores` if there are any, with all that the options ask for beside
/// it, and reports. Returns the exit code.
int train_threads(const Settings& settings, const TrainingPlan& plan, int workers,
                  const std::string& algorithm, const std::vector<int>& cores);

}  // namespace collbench

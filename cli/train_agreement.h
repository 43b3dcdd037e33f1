// What all workers of a training run must have in common.
#pragma once

#include <vector>

#include "cli/train_options.h"
#include "transports/world/agreement.h"

namespace collbench {

/// In the order in which a difference is told; the data by their digest.
std::vector<NamedValue> values_of(const Settings& settings, const TrainingPlan& plan,
                                  const Samples& samples);

}  // namespace collbench

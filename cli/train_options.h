// The options of `collbench train`, and what they say of the plan and the data.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/settings.h"
#include "training/data/dataset.h"
#include "training/plan.h"
#include "transports/world/agreement.h"
#include "transports/world/backend.h"

namespace collbench {

std::span<const OptionRow> train_option_rows();

/// Throw InvalidArgument naming the option that is wrong.
DataType wire_of(const Settings& settings);
TrainingPlan plan_of(const Settings& settings);

/// The all-reduce that --algo or --communication asks for, "auto" included; else the back end's own
/// where --backend names one that has no other, else `usual`. Throws Unavailable for nccl.
std::string gradient_algorithm(const Settings& settings, const std::string& usual = "ring");

/// Throws InvalidArgument unless --backend is auto or names `used`, the only one that `users` have.
void require_backend(const Settings& settings, const Backend& used, const std::string& users);

struct Samples {
  Dataset train;
  Dataset held_out;
};
/// Read from --data, or synthetic. Throws as the readers of training/data/dataset.h do.
Samples samples_of(const Settings& settings, const TrainingPlan& plan);

/// What all workers of a run must have in common, in the order in which differences are reported.
std::vector<NamedValue> values_of(const Settings& settings, const TrainingPlan& plan,
                                  const Samples& samples);

}  // namespace collbench

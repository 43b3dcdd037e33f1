// What `collbench train` prints and writes once training is over.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/train_options.h"
#include "training/replica.h"
#include "training/step.h"

namespace collbench {

/// A part of a step: its key in JSON, its heading, and the member.
struct StepPart {
  const char* key;
  const char* heading;
  Seconds StepTimes::*time;
};
std::span<const StepPart> step_parts();

/// A figure of one strategy: its key in JSON, and the value.
using FurtherFigures = std::vector<std::pair<std::string, double>>;

/// Prints, unless JSON goes to standard output, and writes --json.
void report_training(const Settings& settings, const TrainingPlan& plan, const Samples& samples,
                     const std::string& algorithm, std::vector<ReplicaReport> reports,
                     const FurtherFigures& further = {});

}  // namespace collbench

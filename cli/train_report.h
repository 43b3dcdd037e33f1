// What `collbench train` prints and writes once training is over.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "cli/train_options.h"

namespace collbench {

/// A part of a step: its key in JSON, its heading, and the member.
struct StepPart {
  const char* key;
  const char* heading;
  Seconds StepTimes::*time;
};
std::span<const StepPart> step_parts();

/// The progress line of a training run on standard error.
class StepLine {
 public:
  /// Throws InvalidArgument for a --progress that is none.
  StepLine(const Settings& settings, const TrainingPlan& plan);
  std::function<void(const Progress&)> observer();
  void clear() { line_.clear(); }

 private:
  ProgressLine line_;
};

/// Prints, unless JSON goes to standard output, and writes --json.
void report_training(const Settings& settings, const TrainingPlan& plan, const Samples& samples,
                     const std::vector<ReplicaReport>& reports);

}  // namespace collbench

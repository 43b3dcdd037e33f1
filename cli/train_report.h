// What `collbench train` prints and writes once training is over.
#pragma once

#include <span>
#include <string>
#include <string_view>
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
/// The median over these steps, of which there is one at least.
double median_ms(std::span<const StepTimes> steps, const StepPart& part);
/// A line of headings, led by `corner`, and one of the medians for each rank: "-" without steps.
std::string step_table(std::string_view corner, std::span<const StepPart> parts,
                       const std::vector<std::span<const StepTimes>>& ranks);

/// A part of what the vectors of a rank take: its key in JSON, and the member.
struct MemoryPart {
  const char* key;
  Bytes TrainingMemory::*size;
};
std::span<const MemoryPart> memory_parts();

/// A figure of one strategy: its key in JSON, and the value.
using FurtherFigures = std::vector<std::pair<std::string, double>>;

/// How gradients travel.
struct GradientExchange {
  std::string algorithm;
  std::string backend;
  std::string transport = {};  // of the back end, where it has several
  bool in_step = true;         // false: each worker has steps of its own, and waits for no other
  int replicas = 1;            // of a worker; in step, each has a report
};

/// Says so if the last loss is no number any more; else nothing.
std::string divergence_line(double loss);

/// Prints, unless JSON goes to standard output, and writes --json. There may be no steps, after a
/// checkpoint of the last one, nor of a worker to which none came.
void report_training(const Settings& settings, const TrainingPlan& plan, const Samples& samples,
                     const GradientExchange& exchange, std::vector<ReplicaReport> reports,
                     const FurtherFigures& further = {});

}  // namespace collbench

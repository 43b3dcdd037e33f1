// A simulated step as a trace for ui.perfetto.dev, chrome://tracing and speedscope.
#pragma once

#include <iosfwd>

#include "training/simulated/step.h"
#include "training/workloads/workload.h"

namespace collbench {

/// Writes the Chrome trace event format (JSON) with two rows: the slowest worker's layers, and the
/// all-reduces of buckets with the time when each was ready. Times are microseconds since the step
/// began. Source: Trace Event Format, Google 2016, events "X" and "M".
void write_step_trace(std::ostream& out, const Workload& workload, const StepModel& model,
                      const SimulatedStep& step);

}  // namespace collbench

#include "training/simulated/trace.h"

#include <ostream>
#include <string>

#include <fmt/format.h>

#include "training/trace_slices.h"

namespace collbench {
void write_step_trace(std::ostream& out, const Workload& workload, const StepModel& model,
                      const SimulatedStep& step) {
  // Names need no escapes: parse_workload() refuses what would.
  TraceSlices trace(out);
  const auto layer_name = [&](const LayerSpan& span) -> const std::string& {
    return workload.layers[static_cast<std::size_t>(span.layer)].name;
  };
  for (const LayerSpan& span : step.forward) {
    trace.add(TraceRow::computation, layer_name(span), "forward", span.begin, span.end);
  }
  for (const LayerSpan& span : step.backward) {
    trace.add(TraceRow::computation, layer_name(span), "backward", span.begin, span.end);
  }
  trace.add(TraceRow::computation, "update", "optimizer", step.times.whole - step.times.optimizer,
            step.times.whole);
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    const BucketSpan& bucket = step.buckets[i];
    trace.add(TraceRow::all_reduces, fmt::format("bucket {}", i), "all-reduce", bucket.start,
              bucket.end,
              fmt::format("{{\"bytes\":{},\"ready_us\":{:.3f}}}", bucket.bytes.count,
                          bucket.ready.count() * 1e6));
  }
  trace.finish(
      fmt::format("{{\"workers\":{},\"parameters\":{},\"step_us\":{:.3f},\"exposed_us\":{:.3f}}}",
                  model.workers, workload.parameters(), step.times.whole.count() * 1e6,
                  step.times.exposed.count() * 1e6));
}

}  // namespace collbench

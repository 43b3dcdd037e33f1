#include "training/simulated_trace.h"

#include <ostream>
#include <string_view>

#include <fmt/format.h>

namespace collbench {
namespace {

constexpr int compute_row = 0;
constexpr int communication_row = 1;

// Names need no escapes: parse_workload() refuses what would.
class StepTrace {
 public:
  explicit StepTrace(std::ostream& out) : out_(out) {
    out_ << "{\"traceEvents\":[\n";
    name_row(compute_row, "computation");
    out_ << ",\n";
    name_row(communication_row, "all-reduces");
  }
  /// `arguments` is a JSON object.
  void slice(int row, std::string_view name, std::string_view category, Seconds begin, Seconds end,
             std::string_view arguments = "{}") {
    out_ << fmt::format(
        ",\n{{\"name\":\"{}\",\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},"
        "\"pid\":0,\"tid\":{},\"args\":{}}}",
        name, category, begin.count() * 1e6, (end - begin).count() * 1e6, row, arguments);
  }
  void finish(const Workload& workload, const StepModel& model, const StepTimes& times) {
    out_ << fmt::format(
        "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{{\"workers\":{},\"parameters\":{},"
        "\"step_us\":{:.3f},\"exposed_us\":{:.3f}}}}}\n",
        model.workers, workload.parameters(), times.whole.count() * 1e6,
        times.exposed.count() * 1e6);
  }

 private:
  void name_row(int row, std::string_view text) {
    out_ << fmt::format(
        "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":{},\"args\":{{\"name\":\"{}\"}}"
        "}}",
        row, text);
  }

  std::ostream& out_;
};

}  // namespace

void write_step_trace(std::ostream& out, const Workload& workload, const StepModel& model,
                      const SimulatedStep& step) {
  StepTrace trace(out);
  const auto layer_name = [&](const LayerSpan& span) -> const std::string& {
    return workload.layers[static_cast<std::size_t>(span.layer)].name;
  };
  for (const LayerSpan& span : step.forward) {
    trace.slice(compute_row, layer_name(span), "forward", span.begin, span.end);
  }
  for (const LayerSpan& span : step.backward) {
    trace.slice(compute_row, layer_name(span), "backward", span.begin, span.end);
  }
  trace.slice(compute_row, "update", "optimizer", step.times.whole - step.times.optimizer,
              step.times.whole);
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    const BucketSpan& bucket = step.buckets[i];
    trace.slice(communication_row, fmt::format("bucket {}", i), "all-reduce", bucket.start,
                bucket.end,
                fmt::format("{{\"bytes\":{},\"ready_us\":{:.3f}}}", bucket.bytes.count,
                            bucket.ready.count() * 1e6));
  }
  trace.finish(workload, model, step.times);
}

}  // namespace collbench

// OpenMetrics 1.0 text: families one after the other, each point once, "# EOF" at the end.
#include <algorithm>
#include <cmath>
#include <map>
#include <ostream>

#include <fmt/format.h>

#include "bench/records/case_names.h"
#include "bench/reports/columns.h"
#include "bench/reports/formats.h"
#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

/// Metrics by family, so that the points of one stand together.
class Families {
 public:
  /// Unit: the last word of the name, or "".
  void declare(const std::string& name, const std::string& unit, const std::string& help) {
    std::string head = fmt::format("# TYPE {} gauge\n", name);
    if (!unit.empty()) head += fmt::format("# UNIT {} {}\n", name, unit);
    families_.emplace_back(name, head + fmt::format("# HELP {} {}\n", name, help));
  }

  void add(const std::string& name, const std::string& labels, double value) {
    if (!std::isfinite(value)) return;
    for (auto& [family, text] : families_) {
      if (family == name) text += fmt::format("{}{{{}}} {:.12g}\n", name, labels, value);
    }
  }

  void write(std::ostream& out) const {
    for (const auto& [name, text] : families_) out << text;
    out << "# EOF\n" << std::flush;
  }

 private:
  std::vector<std::pair<std::string, std::string>> families_;
};

std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{}=\"{}\"", name, escaped(value));
}

std::string case_labels(const std::string& name, const Case& point, int cycle) {
  return fmt::format(
      "{},{},{},{},{},{},{}", label("case", name), label("algorithm", point.algorithm),
      label("backend", backend_text(point)), label("workers", std::to_string(point.workers)),
      label("size_bytes", std::to_string(point.bytes.count)),
      label("data_type", to_string(point.type)), label("cycle", std::to_string(cycle)));
}

class OpenMetricsReporter final : public Reporter {
 public:
  explicit OpenMetricsReporter(std::ostream& out) : out_(out) {
    families_.declare("collbench_latency_seconds", "seconds", "Time of one collective.");
    families_.declare("collbench_bus_bandwidth_bytes_per_second", "bytes_per_second",
                      "Size over median time, times 2(N-1)/N for an all-reduce, (N-1)/N for a "
                      "reduce-scatter or an all-gather.");
    families_.declare("collbench_bound_seconds", "seconds", "The least time that is possible.");
    families_.declare("collbench_wrong_elements", "elements", "Elements unlike the exact result.");
  }
  void begin(const Environment& /*environment*/, const std::vector<Case>& cases) override {
    names_ = CaseNames(cases);
  }

  void record(const Record& record) override {
    const Figures shown = figures(record);
    if (!shown.valid) return;
    const std::string name = names_.of(record.point);
    const std::string labels = case_labels(name, record.point, ++cycles_[name]);
    const auto latency = [&](const char* what, double ns) {
      if (std::isnan(ns)) return;
      families_.add("collbench_latency_seconds", fmt::format("{},stat=\"{}\"", labels, what),
                    ns * 1e-9);
    };
    latency("min", shown.latency.min_ns);
    latency("p25", shown.latency.p25_ns);
    latency("p50", shown.latency.median_ns);
    latency("p75", shown.latency.p75_ns);
    latency("p95", shown.latency.p95_ns);
    const std::string& stated = record.point.statistic;  // of another benchmark's table
    if (!stated.empty() && stated != "median") latency(stated.c_str(), shown.time_us * 1e3);
    families_.add("collbench_bus_bandwidth_bytes_per_second", labels, shown.busbw_GBps * 1e9);
    if (record.bound) {
      families_.add("collbench_bound_seconds", labels, record.bound->time.count());
    }
    // Ranks that end with different bits are at least one wrong element.
    const std::int64_t wrong =
        std::max<std::int64_t>(record.measurement.wrong, is_right(record) ? -1 : 1);
    if (wrong >= 0) {
      families_.add("collbench_wrong_elements", labels, static_cast<double>(wrong));
    }
  }

  void end(const RunSummary& /*summary*/) override { families_.write(out_); }

 private:
  std::ostream& out_;
  Families families_;
  CaseNames names_;
  std::map<std::string, int> cycles_;
};

void write_openmetrics(std::ostream& out, const Comparison& comparison,
                       const TableStyle& /*style*/) {
  Families families;
  families.declare("collbench_gate_failed", "", "1 if a case fails the gate.");
  families.declare("collbench_verdicts", "", "How many cases have an outcome.");
  families.declare("collbench_time_seconds", "seconds", "Typical time of an arm.");
  families.declare("collbench_change_ratio", "ratio", "Time of head over time of base.");
  families.add("collbench_gate_failed", "", failures(comparison).empty() ? 0 : 1);
  for (const VerdictOutcome outcome : all_outcomes()) {
    families.add("collbench_verdicts", label("outcome", to_string(outcome)),
                 count(comparison, outcome));
  }
  for (const Verdict& verdict : comparison.verdicts) {
    const std::string labels = fmt::format("{},{}", label("case", verdict.name),
                                           label("outcome", to_string(verdict.outcome)));
    const auto time = [&](const char* arm, const std::optional<Arm>& figures) {
      if (!figures) return;
      families.add("collbench_time_seconds", fmt::format("{},arm=\"{}\"", labels, arm),
                   figures->typical_ns * 1e-9);
    };
    time("base", verdict.base);
    time("head", verdict.head);
    const auto ratio = [&](const char* what, double value) {
      families.add("collbench_change_ratio", fmt::format("{},stat=\"{}\"", labels, what), value);
    };
    if (const std::optional<double> value = ratio_of(verdict)) ratio("estimate", *value);
    if (const RatioEstimate* estimate = deciding(verdict)) {
      ratio("low", estimate->low);
      ratio("high", estimate->high);
    }
  }
  families.write(out);
}

}  // namespace

ReportFormat openmetrics_format() {
  return {"openmetrics", "OpenMetrics text", reporter_on<OpenMetricsReporter>, write_openmetrics};
}

}  // namespace collbench

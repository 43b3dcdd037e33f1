// Google Benchmark's JSON. One entry per case: real_time is the median latency. We do not measure
// CPU time per iteration, so cpu_time repeats real_time: compare.py prints both, and neither is
// NaN.
#include <map>
#include <ostream>

#include "bench/records/case_names.h"
#include "bench/reports/formats.h"
#include "bench/reports/text.h"
#include "core/json.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

class GbenchReporter final : public Reporter {
 public:
  explicit GbenchReporter(std::ostream& out) : out_(out) {}

  void begin(const Environment& environment, const std::vector<Case>& cases) override {
    names_ = CaseNames(cases);
    const auto value = [&](const char* key) { return value_of(environment, key); };
    document_["context"] = {{"host_name", value("host")},
                            {"executable", value("command")},
                            {"cpu", value("cpu")},
                            {"num_cpus", std::atoi(value("cores").c_str())},
                            {"collbench_version", value("version")},
                            {"git_revision", value("git_revision")},
                            {"library_build_type", "release"}};
    document_["benchmarks"] = Json::array();
  }

  void record(const Record& record) override {
    const Figures shown = figures(record);
    if (!shown.valid) return;
    if (!document_["context"].contains("date")) document_["context"]["date"] = record.started;
    const std::string name = names_.of(record.point);
    Json entry = {{"name", name},
                  {"run_name", name},
                  {"run_type", "iteration"},
                  {"repetition_index", repetitions_[name]++},
                  {"threads", record.point.workers},
                  {"iterations", shown.latency.n},
                  {"real_time", shown.time_us},
                  {"cpu_time", shown.time_us},
                  {"time_unit", "us"},
                  {"bytes_per_second", shown.algbw_GBps * 1e9},
                  {"busbw_GBps", shown.busbw_GBps}};
    if (!is_right(record)) {
      entry["error_occurred"] = true;
      entry["error_message"] = "the result differs from the exact one";
    }
    document_["benchmarks"].push_back(std::move(entry));
  }

  void end(const RunSummary& /*summary*/) override {
    out_ << json_text(document_, 2) << '\n' << std::flush;
  }

 private:
  std::ostream& out_;
  Json document_;
  CaseNames names_;
  std::map<std::string, int> repetitions_;
};

}  // namespace

ReportFormat gbench_format() {
  return {"gbench", "Google Benchmark's JSON", reporter_on<GbenchReporter>};
}

}  // namespace collbench

// Records as JSON: onto a stream at the end, or into a file that is complete at every moment.
#include <optional>
#include <ostream>

#include "bench/records/record_file.h"
#include "bench/records/record_json.h"
#include "bench/reports/formats.h"
#include "bench/verdicts/verdict_json.h"
#include "core/output_file.h"

namespace collbench {
namespace {

class JsonReporter final : public Reporter {
 public:
  explicit JsonReporter(std::ostream& out) : out_(out) {}
  void begin(const Environment& environment, const std::vector<Case>& /*cases*/) override {
    file_.environment = environment;
  }
  void record(const Record& record) override { file_.records.push_back(record); }
  void end(const RunSummary& /*summary*/) override { out_ << to_json(file_) << '\n' << std::flush; }

 private:
  std::ostream& out_;
  RecordFile file_;
};

class JsonFileReporter final : public Reporter {
 public:
  explicit JsonFileReporter(std::string path) : path_(std::move(path)) {}
  void begin(const Environment& environment, const std::vector<Case>& /*cases*/) override {
    environment_ = environment;
    log_.emplace(path_, environment);
  }
  void record(const Record& record) override { lines_.push_back(log_->append(record)); }
  void end(const RunSummary& /*summary*/) override {
    log_.reset();
    if (!path_.ends_with(".jsonl")) write_file(path_, records_json(environment_, lines_));
  }

 private:
  std::string path_;
  std::optional<RecordLog> log_;
  Environment environment_;
  std::vector<std::string> lines_;  // writing half a million samples once is long enough
};

}  // namespace

ReportFormat json_format() {
  return {"json", "all samples or, of a comparison, all verdicts and rounds",
          reporter_on<JsonReporter>,
          [](std::ostream& out, const Comparison& comparison, const TableStyle&) {
            out << to_json(comparison);
          }};
}

std::unique_ptr<Reporter> json_file_reporter(const std::string& path) {
  return std::make_unique<JsonFileReporter>(path);
}

}  // namespace collbench

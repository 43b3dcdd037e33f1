// Records as JSON: onto a stream at the end, or into a file that is complete at every moment.
#include <filesystem>
#include <optional>
#include <ostream>
#include <system_error>

#include "bench/records/record_file.h"
#include "bench/records/record_json.h"
#include "bench/reports/formats.h"
#include "bench/verdicts/verdict_json.h"
#include "core/locked_file.h"
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

/// What a pipe or a device has got cannot be replaced: it gets one document, at the end.
bool can_be_replaced(const std::string& path) {
  std::error_code unseen;
  return !std::filesystem::exists(path, unseen) || std::filesystem::is_regular_file(path, unseen);
}

class JsonFileReporter final : public Reporter {
 public:
  explicit JsonFileReporter(std::string path) : path_(std::move(path)) {}
  void begin(const Environment& environment, const std::vector<Case>& /*cases*/) override {
    environment_ = environment;
    const bool is_file = can_be_replaced(path_);
    if (!is_file && !has_lines()) {
      whole_.emplace(path_);
      return;
    }
    if (is_file) lock_ = locked_file(path_, "another file");
    log_.emplace(path_, environment);
    lock_ = {};
    if (is_file) lock_ = locked_file(path_, "another file");  // what stands there now
  }
  void record(const Record& record) override {
    lines_.push_back(log_ ? log_->append(record) : to_json(record));
  }
  void end(const RunSummary& /*summary*/) override {
    log_.reset();
    if (!has_lines()) {
      if (!whole_) whole_.emplace(path_);
      whole_->stream() << records_json(environment_, lines_);
      whole_->commit();
    }
    lock_ = {};
  }

 private:
  bool has_lines() const { return path_.ends_with(".jsonl"); }

  std::string path_;
  Descriptor lock_;  // of two processes the second one would take the place of the first one's file
  std::optional<RecordLog> log_;
  std::optional<OutputFile> whole_;
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

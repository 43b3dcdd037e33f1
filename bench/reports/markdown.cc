// A table that GitHub, GitLab and their like render, for issues and pull requests.
#include <ostream>

#include <fmt/format.h>

#include "bench/reports/columns.h"
#include "bench/reports/formats.h"
#include "bench/reports/notes.h"
#include "bench/reports/report_verdicts.h"

namespace collbench {
namespace {

std::string joined(const std::string& heading, const std::string& unit) {
  return unit.empty() ? heading : heading + " " + unit;
}

class MarkdownReporter final : public Reporter {
 public:
  MarkdownReporter(std::ostream& out, TableStyle style) : out_(out), style_(std::move(style)) {}

  void begin(const Environment& environment, const std::vector<Case>& cases) override {
    columns_ = table_columns(style_.columns, cases, style_.unicode);
    if (!style_.quiet) {
      // Two blanks at the end of a line begin a new one.
      for (const std::string& line : RunNotes::heading(environment, cases)) {
        out_ << escaped_for_markdown(line) << "  \n";
      }
      out_ << '\n';
    }
    std::string names = "|";
    std::string rule = "|";
    for (const Column& column : columns_) {
      names += fmt::format(" {} |", escaped_for_markdown(joined(column.heading, column.unit)));
      rule += column.left() ? ":--|" : "--:|";
    }
    out_ << names << '\n' << rule << '\n' << std::flush;
  }

  void record(const Record& record) override {
    if (style_.sort.empty()) {
      print(record);
    } else {
      records_.push_back(record);
    }
  }

  void end(const RunSummary& summary) override {
    sort_records(records_, style_.sort);
    for (const Record& record : records_) print(record);
    if (!style_.quiet) print_notes(summary);
    out_ << std::flush;
  }

 private:
  void print(const Record& record) {
    const Row row{record, figures(record)};
    const std::string choice = notes_.choice(record);
    if (!choice.empty()) remarks_.push_back(choice);
    if (!record.skipped.empty()) {
      remarks_.push_back(fmt::format("{} skipped: {}", case_name(record.point), record.skipped));
    }
    notes_.count(row);
    std::string line = "|";
    for (const Column& column : columns_) {
      const std::string text = escaped_for_markdown(cell_text(column, row));
      line += is_right(record) ? fmt::format(" {} |", text) : fmt::format(" **{}** |", text);
    }
    out_ << line << '\n' << std::flush;
  }

  void print_notes(const RunSummary& summary) {
    out_ << '\n';
    for (const std::string& remark : remarks_) out_ << "- " << escaped_for_markdown(remark) << '\n';
    for (const std::string& warning : notes_.warnings()) {
      out_ << "- disturbed: " << escaped_for_markdown(warning) << '\n';
    }
    for (const std::string& line : notes_.closing(summary))
      out_ << "- " << escaped_for_markdown(line) << '\n';
  }

  std::ostream& out_;
  TableStyle style_;
  std::vector<Column> columns_;
  std::vector<Record> records_;  // kept only to be sorted
  std::vector<std::string> remarks_;
  RunNotes notes_;
};

}  // namespace

ReportFormat markdown_format() {
  return {"markdown", "for a pull request, at most 65,536 bytes",
          [](std::ostream& out, const FormatOptions& options) -> std::unique_ptr<Reporter> {
            return std::make_unique<MarkdownReporter>(out, options.style);
          },
          [](std::ostream& out, const Comparison& comparison, const TableStyle&) {
            write_markdown(out, comparison, most_comment_bytes);
          }};
}

}  // namespace collbench

// The table for people. Widths are fixed before the first row, from the cases, because rows are
// printed as they are measured, unless they are to be sorted.
#include <ostream>

#include <fmt/format.h>

#include "bench/reports/columns.h"
#include "bench/reports/formats.h"
#include "bench/reports/notes.h"
#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

constexpr std::string_view red = "31";

/// Without blanks at the end, as the last column may leave them.
std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

class TableReporter final : public Reporter {
 public:
  TableReporter(std::ostream& out, TableStyle style) : out_(out), style_(std::move(style)) {}

  void begin(const Environment& environment, const std::vector<Case>& cases) override {
    columns_ = table_columns(style_.columns, cases, style_.unicode);
    if (!style_.quiet) {
      for (const std::string& line : RunNotes::heading(environment, cases)) print_note(line);
    }
    std::string names = "#";
    std::string units = "#";
    for (const Column& column : columns_) {
      names += cell(column, column.heading);
      units += cell(column, column.unit);
    }
    out_ << trimmed(names) << '\n' << trimmed(units) << '\n' << std::flush;
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
    if (style_.quiet) return;
    for (const std::string& warning : notes_.warnings()) print_note("! " + warning);
    bool wrong = summary.wrong > 0;
    for (const std::string& line : notes_.closing(summary)) {
      print_note(wrong ? painted(line, red) : line);
      wrong = false;
    }
    out_ << std::flush;
  }

 private:
  void print_note(const std::string& text) { out_ << "# " << text << '\n'; }

  std::string painted(const std::string& text, std::string_view colour) const {
    return style_.colour ? fmt::format("\033[{}m{}\033[0m", colour, text) : text;
  }

  std::string cell(const Column& column, std::string_view text) const {
    const std::string gap = &column == &columns_.front() ? "" : "  ";
    return gap + (column.left() ? align_left(text, column.width) : align_right(text, column.width));
  }

  void print(const Record& record) {
    const std::string choice = notes_.choice(record);
    if (!style_.quiet && !choice.empty()) print_note(choice);
    const Row row{record, figures(record)};
    notes_.count(row);
    std::string line = " ";
    for (const Column& column : columns_) line += cell(column, cell_text(column, row));
    if (!record.skipped.empty()) line += "  skipped: " + record.skipped;
    if (!record.measurement.warnings.empty()) line += " !";
    line = trimmed(std::move(line));
    out_ << (is_right(record) ? line : painted(line, red)) << '\n' << std::flush;
  }

  std::ostream& out_;
  TableStyle style_;
  std::vector<Column> columns_;
  std::vector<Record> records_;  // kept only to be sorted
  RunNotes notes_;
};

}  // namespace

ReportFormat table_format() {
  return {"table", "for people",
          [](std::ostream& out, const FormatOptions& options) -> std::unique_ptr<Reporter> {
            return std::make_unique<TableReporter>(out, options.style);
          },
          [](std::ostream& out, const Comparison& comparison, const TableStyle& style) {
            out << comparison_text(comparison, style);
          }};
}

}  // namespace collbench

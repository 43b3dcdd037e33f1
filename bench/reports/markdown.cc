// A table that GitHub, GitLab and their like render, for issues and pull requests.
#include <ostream>

#include <fmt/format.h>

#include "bench/reports/notes.h"
#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

class MarkdownReporter final : public NotedTable {
 public:
  using NotedTable::NotedTable;

 private:
  void print_heading(const std::vector<std::string>& lines) override {
    // Two blanks at the end of a line begin a new one.
    for (const std::string& line : lines) out_ << escaped_for_markdown(line) << "  \n";
    if (!lines.empty()) out_ << '\n';
    std::string names = "|";
    std::string rule = "|";
    for (const Column& column : columns_) {
      const std::string unit = column.unit.empty() ? "" : " " + column.unit;
      names += fmt::format(" {} |", escaped_for_markdown(column.heading + unit));
      rule += column.left() ? ":--|" : "--:|";
    }
    out_ << names << '\n' << rule << '\n' << std::flush;
  }

  void print_row(const Row& row, const std::string& choice) override {
    const Record& record = row.record;
    if (!choice.empty()) remarks_.push_back(choice);
    if (!record.skipped.empty()) {
      remarks_.push_back(fmt::format("{} skipped: {}", case_name(record.point), record.skipped));
    }
    std::string line = "|";
    for (const Column& column : columns_) {
      const std::string text = escaped_for_markdown(cell_text(column, row));
      line += is_right(record) ? fmt::format(" {} |", text) : fmt::format(" **{}** |", text);
    }
    out_ << line << '\n' << std::flush;
  }

  void print_closing(const std::vector<std::string>& warnings,
                     const std::vector<std::string>& lines, bool /*wrong*/) override {
    out_ << '\n';
    const auto print = [&](const char* mark, const std::vector<std::string>& all) {
      for (const std::string& line : all) out_ << mark << escaped_for_markdown(line) << '\n';
    };
    print("- ", remarks_);
    print("- disturbed: ", warnings);
    print("- ", lines);
  }

  std::vector<std::string> remarks_;
};

}  // namespace

ReportFormat markdown_format() {
  return {"markdown", "for a pull request, at most 65,536 bytes", reporter_on<MarkdownReporter>,
          [](std::ostream& out, const Comparison& comparison, const TableStyle&) {
            write_markdown(out, comparison, most_comment_bytes);
          }};
}

}  // namespace collbench

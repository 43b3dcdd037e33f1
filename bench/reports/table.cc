// The table for people. Widths are fixed before the first row, from the cases, because rows are
// printed as they are measured, unless they are to be sorted.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "bench/reports/notes.h"
#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

constexpr std::string_view red = "31";

constexpr std::size_t most_characters = 100;
constexpr std::size_t mark_characters = 2;  // " !" behind a row

/// The text in lines that fit behind "# ", broken at blanks; a longer word has a line of its own.
std::vector<std::string> note_lines(const std::string& text) {
  constexpr std::size_t room = most_characters - 2;
  std::vector<std::string> lines{""};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t word = std::min(text.find_first_not_of(' ', begin), text.size());
    const std::size_t end = std::min(text.find(' ', word), text.size());
    const std::string with_blanks = text.substr(begin, end - begin);
    if (lines.back().empty() || characters(lines.back() + with_blanks) <= room) {
      lines.back() += with_blanks;
    } else {
      lines.push_back("  " + text.substr(word, end - word));
    }
    begin = end;
  }
  return lines;
}

/// Without blanks at the end, as the last column may leave them.
std::string cut_at_end(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

class TableReporter final : public NotedTable {
 public:
  using NotedTable::NotedTable;

 private:
  void print_heading(const std::vector<std::string>& lines) override {
    if (style_.columns.empty()) fit_columns(columns_, most_characters - mark_characters);
    for (const std::string& line : lines) print_note(line);
    std::string names = "#";
    std::string units = "#";
    for (const Column& column : columns_) {
      names += cell(column, column.heading);
      units += cell(column, column.unit);
    }
    out_ << cut_at_end(names) << '\n' << cut_at_end(units) << '\n' << std::flush;
  }

  void print_row(const Row& row, const std::string& choice) override {
    if (!style_.quiet && !choice.empty()) print_note(choice);
    std::string line = " ";
    std::size_t over = 0;  // a choice may be wider than its column: it takes the blanks behind it
    for (const Column& column : columns_) {
      std::string text = cell(column, cell_text(column, row));
      const std::size_t blanks = std::min(text.find_first_not_of(' '), text.size());
      const std::size_t taken = std::min(over, blanks > 1 ? blanks - 1 : 0);
      text.erase(0, taken);
      const std::size_t room = column.width + (&column == &columns_.front() ? 0 : 2);
      const std::size_t full = characters(text) + taken;
      over = over - taken + (full > room ? full - room : 0);
      line += text;
    }
    const std::string why = row.record.skipped.empty() ? "" : "skipped: " + row.record.skipped;
    const bool fits = characters(line) + characters(why) + 2 <= most_characters;
    if (fits && !why.empty()) line += "  " + why;
    if (!row.record.measurement.warnings.empty()) line += " !";
    line = cut_at_end(std::move(line));
    out_ << (is_right(row.record) ? line : painted(line, red)) << '\n';
    if (!fits && !why.empty()) print_note(why);
    out_ << std::flush;
  }

  void print_closing(const std::vector<std::string>& warnings,
                     const std::vector<std::string>& lines, bool wrong) override {
    for (const std::string& warning : warnings) print_note("! " + warning);
    for (const std::string& line : lines) {
      print_note(line, wrong);
      wrong = false;
    }
  }

  void print_note(const std::string& text, bool in_red = false) {
    for (const std::string& line : note_lines(text)) {
      out_ << "# " << (in_red ? painted(line, red) : line) << '\n';
    }
  }

  std::string painted(const std::string& text, std::string_view colour) const {
    return style_.colour ? fmt::format("\033[{}m{}\033[0m", colour, text) : text;
  }

  std::string cell(const Column& column, std::string_view text) const {
    const std::string gap = &column == &columns_.front() ? "" : "  ";
    return gap + (column.left() ? align_left(text, column.width) : align_right(text, column.width));
  }
};

}  // namespace

ReportFormat table_format() {
  return {"table", "for people", reporter_on<TableReporter>,
          [](std::ostream& out, const Comparison& comparison, const TableStyle& style) {
            out << comparison_text(comparison, style);
          }};
}

}  // namespace collbench

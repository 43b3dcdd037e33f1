#include "bench/records/csv_cells.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {

std::string csv_quoted(std::string text) {
  // A spreadsheet would compute a cell that begins so; an apostrophe makes it text.
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) {
    text.insert(0, "'");
  }
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::vector<std::string> csv_cells(std::string_view line, const std::string& place) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  require(!quoted, fmt::format("{}: a quoted cell does not end on its line", place));
  for (std::string& cell : cells) cell = std::string(trimmed(cell));
  return cells;
}

}  // namespace collbench

// osu_allreduce: "# Size  Avg Latency(us) [Min Latency(us) Max Latency(us) Iterations]", then rows.
// Versions from 7.3 on may add percentiles, which have headings such as "P50 Tail Lat(us)".
#include <fmt/format.h>

#include "bench/foreign/foreign_readers.h"
#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

struct Columns {
  int minimum = -1;
  int maximum = -1;
  int iterations = -1;
  int count = 0;
};

/// Headings are of several words; each but the first and "Iterations" ends in "(us)".
Columns columns_of(std::string_view heading) {
  Columns columns;
  std::string_view of;  // the first word of the heading at hand
  for (const std::string_view word : split_at_blanks(heading)) {
    if (word == "#") continue;
    if (of.empty()) of = word;
    const bool ends = word == "Size" || word == "Iterations" ||
                      (word.size() >= 4 && word.substr(word.size() - 4) == "(us)");
    if (!ends) continue;
    if (of == "Min") columns.minimum = columns.count;
    if (of == "Max") columns.maximum = columns.count;
    if (of == "Iterations") columns.iterations = columns.count;
    ++columns.count;
    of = {};
  }
  return columns;
}

}  // namespace

MeasuredTable read_osu(std::string_view text, const std::string& file) {
  MeasuredTable table;
  table.name = file;
  Columns columns;
  for (const TextLine& line : lines_of(text)) {
    if (line.text.empty()) continue;
    const std::string place = fmt::format("{}:{}", file, line.number);
    if (line.text.front() == '#') {
      if (line.text.find("Size") != line.text.npos) columns = columns_of(line.text);
      if (line.text.find("OSU") != line.text.npos) table.source = std::string(line.text.substr(1));
      continue;
    }
    const auto words = split_at_blanks(line.text);
    if (words.front().front() < '0' || words.front().front() > '9') continue;
    require(columns.count >= 2,
            fmt::format("{}: a row before the heading '# Size  Avg Latency(us)'", place));
    require(
        static_cast<int>(words.size()) == columns.count,
        fmt::format("{}: {} columns where the heading has {}", place, words.size(), columns.count));
    const auto value = [&](int column, const char* what) {
      return table_number(words[static_cast<std::size_t>(column)], what, place);
    };
    MeasuredTime row = mean_of("mpi");
    row.bytes = Bytes{table_integer(words[0], "the size", place)};
    if (row.bytes.count == 0) continue;
    row = timed(row, value(1, "the average"), false, place);
    if (columns.minimum > 0) row.low = Seconds{value(columns.minimum, "the minimum") * 1e-6};
    if (columns.maximum > 0) row.high = Seconds{value(columns.maximum, "the maximum") * 1e-6};
    if (columns.iterations > 0) {
      const double iterations = value(columns.iterations, "the iterations");
      require(iterations <= 1e9, fmt::format("{}: the iterations are more than 1e9", place));
      row.samples = static_cast<int>(iterations);
    }
    table.times.push_back(std::move(row));
  }
  require(!table.times.empty(), fmt::format("{}: no row of osu_allreduce's table in it", file));
  return table;
}

}  // namespace collbench

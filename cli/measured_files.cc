#include "cli/measured_files.h"

#include <iostream>

#include <fmt/format.h>

#include "bench/foreign/foreign_tables.h"
#include "core/error.h"

namespace collbench {

void keep_collective(MeasuredTable& table, CollectiveKind kind) {
  const std::size_t left_out =
      std::erase_if(table.times, [&](const MeasuredTime& row) { return row.collective != kind; });
  if (left_out > 0) {
    table.notes.push_back(fmt::format("{} rows left out: not of {}", left_out, to_string(kind)));
  }
  const std::size_t others = std::erase_if(table.times, [](const MeasuredTime& row) {
    return !row.groups.empty() || !row.counts.empty();
  });
  if (others > 0) {
    table.notes.push_back(
        fmt::format("{} rows left out: of groups side by side, or of unequal shares", others));
  }
}

std::vector<MeasuredTable> read_measured_files(const std::vector<std::string>& paths,
                                               CollectiveKind kind) {
  std::vector<MeasuredTable> tables;
  std::vector<std::string> skipped;
  for (const std::string& path : paths) {
    for (MeasuredTable& table : read_tables(path, skipped)) tables.push_back(std::move(table));
  }
  for (const std::string& reason : skipped) std::cerr << "left out: " << reason << '\n';
  for (MeasuredTable& table : tables) {
    keep_collective(table, kind);
    for (const std::string& note : table.notes) std::cerr << "note: " << note << '\n';
  }
  require(!tables.empty(), "no table of measurements in what was named");
  return tables;
}

std::vector<MeasuredTime> all_rows(const std::vector<MeasuredTable>& tables) {
  std::vector<MeasuredTime> rows;
  for (const MeasuredTable& table : tables) {
    rows.insert(rows.end(), table.times.begin(), table.times.end());
  }
  return rows;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace collbench

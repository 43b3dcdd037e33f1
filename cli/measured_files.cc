#include "cli/measured_files.h"

#include <algorithm>
#include <iostream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/foreign/foreign_tables.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/plain_text.h"
#include "heuristics/calibration/fitted_machine.h"
#include "transports/world/backend.h"

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

std::vector<std::string> table_names(const std::string& tables) {
  std::vector<std::string> names;
  std::size_t from = 0;
  while (from <= tables.size()) {
    const std::size_t comma = std::min(tables.find(',', from), tables.size());
    const std::string part = tables.substr(from, comma - from);
    if (!names.empty() && part.find('=') != part.npos) {
      names.back() += "," + part;
    } else if (!part.empty()) {
      names.push_back(part);
    }
    from = comma + 1;
  }
  return names;
}

std::vector<MeasuredTable> read_measured_files(const std::vector<std::string>& paths,
                                               CollectiveKind kind) {
  std::vector<MeasuredTable> tables;
  std::vector<std::string> skipped;
  for (const std::string& path : paths) {
    try {
      for (MeasuredTable& table : read_tables(path, skipped, kind))
        tables.push_back(std::move(table));
    } catch (const InvalidArgument& error) {
      if (kind == CollectiveKind::all_reduce) throw;
      throw InvalidArgument(
          fmt::format("{}; rows of {} are read from tables of nccl-tests, rccl-tests, OSU and IMB, "
                      "our own records and CSV with a column 'collective'",
                      error.what(), to_string(kind)));
    }
  }
  for (const std::string& reason : skipped) std::cerr << "left out: " << reason << '\n';
  for (MeasuredTable& table : tables) {
    keep_collective(table, kind);
    const auto wrong = std::ranges::count_if(table.times, &MeasuredTime::is_wrong);
    if (wrong > 0) {
      table.notes.push_back(fmt::format("{}: {} of {} count nowhere: their results are wrong",
                                        table.name, wrong,
                                        counted(std::ssize(table.times), "row")));
    }
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

std::vector<MeasuredTime> rows_to_choose_by(const std::string& tables, CollectiveKind kind,
                                            std::vector<std::string>& notes) {
  const auto is_ours = [](const MeasuredTime& row) {
    const Backend* backend = backend_named(row.library);
    return row.algorithm == "auto" && backend != nullptr && !backend->has_library;
  };
  std::vector<MeasuredTime> rows;
  std::vector<std::string> skipped;
  for (const std::string& name : table_names(tables)) {
    for (MeasuredTable& table : read_tables(name, skipped, kind)) {
      keep_collective(table, kind);
      const std::size_t ours = std::erase_if(table.times, is_ours);
      if (ours > 0) {
        table.notes.push_back(
            fmt::format("{} left out: of auto, which is what is asked", counted(ours, "row")));
      }
      rows.insert(rows.end(), table.times.begin(), table.times.end());
      notes.insert(notes.end(), table.notes.begin(), table.notes.end());
    }
  }
  for (const std::string& file : skipped) notes.push_back("no table: " + file);
  return rows;
}

void leave_out_hosts(const std::string& topology, std::vector<MeasuredTime>& rows,
                     std::vector<std::string>& notes) {
  const std::string head = topology.substr(0, topology.find(':'));
  if (topology.empty() || names_a_file(head) || calibration_of(topology)) return;
  std::set<std::string> whose;
  const std::size_t left_out = std::erase_if(rows, [&](const MeasuredTime& row) {
    if (row.scale.is_host()) whose.insert(row.library);
    return row.scale.is_host();
  });
  if (left_out == 0) return;
  const std::string what = fmt::format(
      "{} of {} measured with all ranks on the cores of one host, "
      "which is not {}",
      counted(static_cast<std::int64_t>(left_out), "row"), fmt::join(whose, ", "), topology);
  require(!rows.empty(), fmt::format("{}, and there are no others: to choose for that host leave "
                                     "--topo out and name the back end (--backend {})",
                                     what, *whose.begin()));
  notes.push_back(what + ": left out");
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace collbench

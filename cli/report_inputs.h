// What `collbench report` reads: files of records, of comparisons, tables of other benchmarks, and
// what simulations left beside their records (traces, tables of links).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/reports/html_report.h"
#include "bench/verdicts/verdict.h"

namespace collbench {

struct ReportInputs {
  std::string title = "collbench report";
  std::vector<ReportSource> sources;
  std::optional<Comparison> comparison;
  std::vector<StoredSeries> history;
  std::vector<Replay> replays;

  /// The records of all files, in their order.
  std::vector<Record> records() const;
};

/// Reads each file as what it holds. Throws Unavailable for one that cannot be read and
/// InvalidArgument, naming the file, for one that is nothing of all that, and for a second
/// comparison.
ReportInputs read_report_inputs(const std::vector<std::string>& files);

/// Every case of a history that `collbench history` keeps, with its change points. Throws as
/// History does.
std::vector<StoredSeries> read_history(const std::string& path);

/// Keeps the records whose cases match a filter of bench/measure/case_filter.h.
void keep_matching(ReportInputs& inputs, const std::string& filter);

}  // namespace collbench

// The notes around the rows of a table: what ran where, what auto chose and why, what disturbed the
// measurement, and a summary.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "bench/records/report.h"
#include "bench/reports/columns.h"

namespace collbench {

/// Collects over a run; lines are plain text without an end of line.
/// Thread safety: none.
class RunNotes {
 public:
  /// "collbench 0.1.0  allreduce  algo=ring  ...", the host, and a warning if workers outnumber its
  /// cores. Requires a case.
  static std::vector<std::string> heading(const Environment& environment,
                                          const std::vector<Case>& cases);

  /// What auto chose for this record and why; empty if it was said before.
  std::string choice(const Record& record);
  /// Counts a row and keeps its warnings.
  void count(const Row& row);

  /// What disturbed rows, "1 KiB ring on shm: foreign load", at most a few and how many more.
  std::vector<std::string> warnings() const;
  /// "9 cases, 1.9 s, all results correct. best busbw 4.61 GB/s at ...", then what ended it early.
  std::vector<std::string> closing(const RunSummary& summary) const;

 private:
  std::string verdict(const RunSummary& summary) const;

  std::set<std::string> choices_;
  std::vector<std::string> warnings_;
  std::size_t warning_count_ = 0;
  int checked_ = 0;
  int unchecked_ = 0;
  int exact_ = 0;  // simulated
  double best_busbw_ = 0;
  std::string best_case_;
};

}  // namespace collbench

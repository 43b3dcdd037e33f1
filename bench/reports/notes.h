// A table of records for people with the notes around its rows: what ran where, what auto chose and
// why (if the style asks for it), what disturbed the measurement, a summary and the answer: what is
// fastest where.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bench/reports/columns.h"
#include "bench/reports/formats.h"
#include "bench/reports/standings.h"

namespace collbench {

/// What disturbed one case, or several in the same words.
struct NotedWarning {
  std::string text;
  std::string first_case;
  int cases = 0;
};

/// Rows come one by one unless they are to be sorted. How the parts look is for its subclasses; all
/// lines are plain text without an end of line. Thread safety: none.
class NotedTable : public Reporter {
 public:
  NotedTable(std::ostream& out, const FormatOptions& options)
      : out_(out),
        style_(options.style),
        last_run_(options.last_run),
        machines_differ_(options.machines_differ) {}
  void begin(const Environment& environment, const std::vector<Case>& cases) final;
  void record(const Record& record) final;
  void end(const RunSummary& summary) final;

 protected:
  /// "collbench 0.1.0  allreduce  algo=ring  ...", the host, and a warning if workers outnumber its
  /// cores; no lines if the style is quiet.
  virtual void print_heading(const std::vector<std::string>& lines) = 0;
  /// `choice`: what auto chose for this row and why; empty if it was said before or not asked for.
  virtual void print_row(const Row& row, const std::string& choice) = 0;
  /// What disturbed rows, "1 KiB ring on shm and 3 more: foreign load", at most a few and how many
  /// more;
  /// "9 cases, 1.9 s, all results correct. best busbw 4.61 GB/s at ...", what ended it early,
  /// and the lines of Standings and LastRun.
  virtual void print_closing(const std::vector<std::string>& warnings,
                             const std::vector<std::string>& lines, bool wrong) = 0;

  std::ostream& out_;
  TableStyle style_;
  std::vector<Column> columns_;

 private:
  void show(const Record& record);
  std::string choice(const Record& record);
  void count(const Row& row);
  std::vector<std::string> closing(const RunSummary& summary) const;
  std::vector<std::string> warning_lines() const;
  std::string verdict(const RunSummary& summary) const;

  std::shared_ptr<LastRun> last_run_;
  std::string machines_differ_;
  std::vector<Record> records_;  // kept only to be sorted
  std::set<std::string> choices_;
  Standings standings_;
  std::vector<NotedWarning> warnings_;
  int more_warnings_ = 0;  // in other words, beyond what is shown
  int checked_ = 0;
  int unchecked_ = 0;
  int each_checked_ = 0;  // in which every timed iteration was
  bool stated_ = false;   // some are of another benchmark, which checked in its own way
  int exact_ = 0;         // simulated
  bool only_simulated_ = false;
  double best_busbw_ = 0;
  std::string best_case_;
};

}  // namespace collbench

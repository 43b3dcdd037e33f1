// What changed since an earlier run of the same command: a hint, not a verdict, since one run each
// cannot tell a change of the code from one of the machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/records/record_json.h"
#include "bench/reports/text.h"

namespace collbench {

/// The earlier records, and how a later run differs from them. Thread safety: none.
class LastRun {
 public:
  /// `name` is that of the file the records are from.
  LastRun(RecordFile file, std::string name);

  /// The machine and the revision of the later run.
  void begin(const Environment& environment);
  void add(const Record& record, const Figures& shown);

  /// "since the run of 2026-11-23 23:20 UTC in out.json: 7 of 9 cases as fast", then at most three
  /// cases that changed, the largest change first. A timed case changed if its median moved by more
  /// than 5 % and the 95 % intervals of both medians are apart; an exact one if its time differs at
  /// all; one of fewer than six iterations is not compared. Empty if no case is in both; one line
  /// if the machines differ.
  std::vector<std::string> lines() const;

 private:
  struct Change {
    Case point;
    double before_us = 0;
    double after_us = 0;
  };

  RecordFile file_;
  std::string name_;
  std::map<std::string, const Record*> earlier_;  // by case_name(); into file_
  std::vector<std::string> mismatches_;
  std::string revision_;
  std::vector<Change> changes_;
  int common_ = 0;
  int few_ = 0;  // in both, but of too few iterations for an interval
};

}  // namespace collbench

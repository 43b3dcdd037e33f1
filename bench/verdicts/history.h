// A history of comparisons with one pinned reference, in a SQLite file.
//
// A point is the ratio of a version to a reference binary that the same job measured in turn with
// it: differences between machines and days cancel. Exact cases keep their simulated time. Change
// points of a case's series show the version that made it slower
// (bench/verdicts/statistics_changes.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/verdicts/statistics_changes.h"
#include "bench/verdicts/verdict.h"

namespace SQLite {
class Database;
}

namespace collbench {

/// One comparison that was added.
struct HistoryJob {
  std::int64_t id = 0;
  std::string when;       // ISO 8601, UTC
  std::string revision;   // of head
  std::string reference;  // revision of the reference, base
  std::string machine;    // host and cpu
  int cases = 0;
};

/// What one job showed of a case.
struct StoredPoint {
  HistoryJob job;
  bool exact = false;
  double value = 0;  // ratio to the reference; of an exact case the simulated time in nanoseconds
  double low = 0;    // 95 % interval; equal to the value of an exact case
  double high = 0;
  int rounds = 0;
};

/// The points of one case in the order of time, and where its level moved.
struct StoredSeries {
  std::string name;  // whole_name(): another setting is another series
  std::vector<StoredPoint> points;
  std::vector<ChangePoint> changes;  // `at` counts points
};

/// Where no CPU that showed the level before a change is among those after it, which CPUs: "on 'B',
/// before it on 'A'". Then the ratio may have moved with the machine. Empty otherwise, and for
/// exact cases, which are equal on all.
std::string other_cpus(const StoredSeries& series, const ChangePoint& change);

/// Thread safety: belongs to one thread; several processes may share a file.
class History {
 public:
  enum class Use { read, change, change_or_make };
  /// Throws Unavailable if the file cannot be opened or is locked, or is not there and `use` does
  /// not make it; InvalidArgument if it is no history, is damaged, or has another schema version.
  History(const std::string& path, Use use);
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  /// Adds a comparison of the reference (base) with a version (head) as one job, all of it or
  /// nothing. Cases without a ratio are left out. Throws InvalidArgument if the reference is not
  /// that of the history, no case has a ratio, or these very figures, if any
  /// is measured, are in it.
  HistoryJob add(const Comparison& comparison, const std::string& when);
  /// In the order of time.
  std::vector<HistoryJob> jobs() const;
  std::vector<std::string> cases() const;
  /// Throws InvalidArgument, with the nearest name, for a case that is not there. Exact series
  /// change wherever two points differ.
  StoredSeries series(const std::string& name, const ChangeRule& rule) const;
  /// Removes all but the latest `keep` jobs; returns how many went.
  int prune(int keep);

 private:
  void make_schema();
  using NamedPoints = std::map<std::string, StoredPoint>;  // by the names of their cases
  static std::int64_t checksum_of(const HistoryJob& job, const NamedPoints& points);
  void check_whole() const;
  void refuse_known(const HistoryJob& job, const NamedPoints& points) const;

  std::string path_;
  std::unique_ptr<SQLite::Database> database_;
};

}  // namespace collbench

// The HTML report: one page in one file that works offline, with its data, scripts and style
// inside.
//
// The page computes nothing that the program knows: figures are those of bench/reports/text.h. It
// groups, sorts and draws. Without scripting, it still shows the table of all cases.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/records/record_json.h"
#include "bench/reports/replay.h"

namespace collbench {

struct Comparison;  // bench/verdicts/verdict.h

/// A file of records, and what to call it.
struct ReportSource {
  std::string name;
  RecordFile file;
};

/// A point of a history: how head compared with the pinned reference at a revision. Ratios are
/// dimensionless, 1.1 is 10 % slower.
struct HistoryPoint {
  std::string label;  // revision
  std::string when;   // ISO 8601
  double ratio = 1;
  double low = 1;
  double high = 1;
};
/// `place` of the first point that belongs to the new level.
struct HistoryChange {
  std::size_t place = 0;
  std::string text;  // "+12.9 %"
};
struct HistorySeries {
  std::string name;  // case_name()
  std::vector<HistoryPoint> points;
  std::vector<HistoryChange> changes;
};

struct HtmlReport {
  std::string title;
  std::vector<ReportSource> sources;
  std::vector<Replay> replays;
  std::vector<std::string> notes;          // what could not be shown, and why
  const Comparison* comparison = nullptr;  // null for none
  std::vector<HistorySeries> history;
};

/// Samples that the page holds at most, spread evenly over its cases and, within a case, over time.
inline constexpr std::size_t most_page_samples = 1'000'000;

void write_html(std::ostream& out, const HtmlReport& report);

/// The data block of the page: JSON in which "<" is escaped, so that no text ends the script
/// element it stands in. bench/reports/html/rows.js reads it.
std::string page_data(const HtmlReport& report);

}  // namespace collbench

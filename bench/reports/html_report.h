// The HTML report: one page in one file that works offline, with its data, scripts and style
// inside.
//
// The page computes no figures itself; they come from bench/reports/text.h. It
// groups, sorts and draws. Without scripting, it still shows the table of all cases.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "bench/records/record_json.h"
#include "bench/reports/replay.h"
#include "bench/verdicts/history.h"
#include "heuristics/diagnosis/diagnosis.h"

namespace collbench {

struct Comparison;  // bench/verdicts/verdict.h

/// A file of records, and what to call it.
struct ReportSource {
  std::string name;
  RecordFile file;
};

struct HtmlReport {
  std::string title;
  std::string repository;  // URL to whose /commit/REVISION revisions are linked; "" for no links
  std::string network;     // that the measured cases ran on, as `--topo` names it; "" if not said
  std::vector<ReportSource> sources;
  std::vector<Replay> replays;
  std::vector<std::string> notes;          // what could not be shown, and why
  const Comparison* comparison = nullptr;  // null for none
  std::vector<StoredSeries> history;
  std::vector<Diagnosis> diagnoses;  // of foreign tables
};

/// Samples that the page holds at most, spread evenly over its cases and, within a case, over time.
inline constexpr std::size_t most_page_samples = 1'000'000;

void write_html(std::ostream& out, const HtmlReport& report);

// The files of bench/reports/html as text in the program, so that the page needs no other file:
// Apache ECharts as npm has it (html/echarts/README.md says which version), the page's own scripts
// in the order in which they run, its style.
std::string_view echarts_script();
std::string_view page_script();
std::string_view page_style();

/// In what the machines differ that its measured records are from, "cpu: 'A' is not 'B'"; empty if
/// they do not. Tables of other benchmarks do not say where they are from.
std::string machines_differ(const HtmlReport& report);

/// Of all its records.
std::vector<Case> cases_of(const HtmlReport& report);

/// The data block of the page: JSON in which "<" is escaped, so that no text ends the script
/// element it stands in. bench/reports/html/rows.js reads it.
std::string page_data(const HtmlReport& report);

/// Diagnoses on the page, one <section id="diagnosis"> without scripts: of each table the verdict,
/// a drawing of measured over expected times with the interval, the causes, the thresholds of
/// vendors and the table of sizes. Nothing without diagnoses.
void write_diagnosis_section(std::ostream& out, const std::vector<Diagnosis>& diagnoses);

}  // namespace collbench

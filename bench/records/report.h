// Reporters show records: one seam, one writer per format.
//
// A run calls begin once, record for every case as it is done, and end once, also when it was
// interrupted. Writers keep no figures of their own: they show what the records hold.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "bench/records/case.h"
#include "bench/records/record.h"

namespace collbench {

/// How a run went.
struct RunSummary {
  int planned = 0;
  int measured = 0;
  int skipped = 0;  // not usable here; the reason is in the record
  int wrong = 0;    // cases whose result differed from the exact one or between ranks
  Seconds elapsed{0};
  std::string stopped_by;  // "SIGINT", "SIGTERM"; empty if it ran to its end
  std::string failure;     // what ended it early: "rank 3 was lost"; empty if nothing did
};

/// Thread safety: one thread.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void begin(const Environment& environment, const std::vector<Case>& cases) = 0;
  virtual void record(const Record& record) = 0;
  virtual void end(const RunSummary& summary) = 0;
};

struct TableStyle {
  bool colour = false;                    // wrong results and missed bounds in red, notes dim
  bool unicode = false;                   // "±95 %" and "µs" instead of "+-95 %" and "us"
  bool quiet = false;                     // rows and column headings only
  std::vector<std::string> columns = {};  // of column_names(); empty: what varies, and the figures
  std::vector<std::string> sort = {};     // as sort_records(); empty: as they come
};

/// The table for people: a heading that says what runs where, one aligned row per case, a closing
/// line.
std::unique_ptr<Reporter> table_reporter(std::ostream& out, TableStyle style);

/// The same table as Markdown, to be pasted into an issue; wrong rows are bold.
std::unique_ptr<Reporter> markdown_reporter(std::ostream& out, TableStyle style);

/// nccl-tests' table, column for column, so that its parsers work. Rows of several algorithms or
/// worker counts come as one table each, at the end.
std::unique_ptr<Reporter> nccl_reporter(std::ostream& out, const Sampling& sampling);

/// Long ("tidy") CSV: one row per case with its statistics or, with `raw_samples`, one per sample.
std::unique_ptr<Reporter> csv_reporter(std::ostream& out, bool raw_samples);

/// The JSON of results/schema.json as one object, at the end.
std::unique_ptr<Reporter> json_reporter(std::ostream& out);

/// The same into a file, which grows by one line per record, so that a run that is killed keeps
/// what it had, and becomes one object at the end; a name ending in ".jsonl" keeps its lines.
std::unique_ptr<Reporter> json_file_reporter(const std::string& path);

/// Google Benchmark's JSON, one entry per case with the median as its time; its compare.py reads
/// it.
std::unique_ptr<Reporter> gbench_reporter(std::ostream& out);

/// JUnit's XML, which GitLab, Jenkins and Azure show: a test per case, failed if its result was
/// wrong.
std::unique_ptr<Reporter> junit_reporter(std::ostream& out);

/// OpenMetrics text: gauges of latency, bandwidth, bound and wrong elements, labelled by case.
std::unique_ptr<Reporter> openmetrics_reporter(std::ostream& out);

/// "ring/shm/workers:8/1048576/f32/sum": a name of the case that is stable over versions.
std::string case_name(const Case& point);

/// The elements of the vector of a case.
std::int64_t element_count(const Case& point);

/// Whether the check found the result of a record to be right, or was off.
bool is_right(const Record& record);
/// What the check found otherwise, in words; empty if the record is right.
std::string wrong_text(const Record& record);

}  // namespace collbench

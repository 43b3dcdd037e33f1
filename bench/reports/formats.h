// The output formats: one table, which `run --format`, `report`, the files that commands write,
// their help and the completion read.
#pragma once

#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bench/records/report.h"
#include "bench/verdicts/verdict.h"

namespace collbench {

class LastRun;  // bench/reports/last_run.h

struct TableStyle {
  bool colour = false;                    // wrong results and missed bounds in red, notes dim
  bool unicode = false;                   // "±95 %" and "µs" instead of "+-95 %" and "us"
  bool quiet = false;                     // rows and column headings only
  bool reasons = false;                   // why auto chose what it chose, in a line of its own
  std::vector<std::string> columns = {};  // of column_names(); empty: what varies, and the figures
  std::vector<std::string> sort = {};     // as sort_records(); empty: as they come
};

/// What shapes the output of some formats.
struct FormatOptions {
  TableStyle style{};
  Sampling sampling{};       // nccl-tests' heading shows it
  bool raw_samples = false;  // CSV has a row per sample
  /// The run before this one, compared beneath a table; null for none.
  std::shared_ptr<LastRun> last_run = nullptr;
  /// In what the machines of measured records differ, "cpu: 'A' is not 'B'"; empty: they are one.
  std::string machines_differ = "";
};

struct ReportFormat {
  std::string_view name;  // as --format takes it, and the option that takes its file
  std::string_view help;
  /// Shows records as they are made; null if it shows none. Only the page has neither function: it
  /// shows all inputs of a report at once.
  std::unique_ptr<Reporter> (*records)(std::ostream& out, const FormatOptions& options) = nullptr;
  /// Shows a comparison; null for a format of records.
  void (*comparison)(std::ostream& out, const Comparison& comparison,
                     const TableStyle& style) = nullptr;
};

/// How a format makes its reporter; some `Writer`s take options.
template <typename Writer>
std::unique_ptr<Reporter> reporter_on(std::ostream& out, const FormatOptions& options) {
  if constexpr (std::is_constructible_v<Writer, std::ostream&, const FormatOptions&>) {
    return std::make_unique<Writer>(out, options);
  } else {
    return std::make_unique<Writer>(out);
  }
}

/// All formats, in the order in which help lists them.
std::span<const ReportFormat> report_formats();

/// JSON in a file, which grows by one line per record, so that a run that is killed keeps what it
/// had, and becomes one object at the end; a name ending in ".jsonl" keeps its lines. A pipe or a
/// device gets the object alone, at the end.
std::unique_ptr<Reporter> json_file_reporter(const std::string& path);

/// Beneath each simulated record, which engine played it and why, and what bounds its time: lines
/// that start with "#   ". Shows nothing for real records.
std::unique_ptr<Reporter> explaining_reporter(std::ostream& out);

/// A picture of records for papers, terminals and READMEs, as input of gnuplot: one row of two
/// plots per choice of everything but algorithm, back end and size, at most four. `path` is the
/// file that gnuplot shall write: ".svg", ".png", ".pdf"; "-" is text on its standard output.
/// Throws InvalidArgument for another ending and if no record has figures.
void write_gnuplot(std::ostream& out, const std::vector<Record>& records, const std::string& path);

/// The same for a map of the fastest contender over sizes and workers, of the setting that has most
/// cells; `auto` is left out where two others compete. Cells of measured times are pale and "not
/// comparable" if machines differ. Throws InvalidArgument for another ending and if no two
/// contenders have figures in the same case.
void write_winner_map(std::ostream& out, const std::vector<Record>& records,
                      const std::string& path, bool machines_differ);

/// The names of all formats, and of those that show records one by one: what `run --format` takes.
std::vector<std::string> report_format_names();
std::vector<std::string> record_format_names();

/// Throws InvalidArgument, naming the nearest, for a name that is of no format. `label` is the
/// option that gave it.
const ReportFormat& report_format(const std::string& label, std::string_view name);

}  // namespace collbench

#include "cli/report_files.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/records/record_json.h"
#include "bench/records/report.h"
#include "bench/reports/plot_gnuplot.h"
#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"
#include "bench/verdicts/verdict_json.h"
#include "cli/comparison_outputs.h"
#include "cli/gate_options.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

/// Every record through a reporter, as a run would have shown them.
void play(Reporter& reporter, const ReportInputs& inputs) {
  const std::vector<Record> records = inputs.records();
  Environment environment;
  if (!inputs.sources.empty()) environment = inputs.sources.front().file.environment;
  std::vector<Case> cases;
  RunSummary summary;
  for (const Record& record : records) {
    cases.push_back(record.which);
    ++summary.planned;
    ++(record.skipped.empty() ? summary.measured : summary.skipped);
    summary.wrong += is_right(record) ? 0 : 1;
  }
  require(!cases.empty(), "there are no records to show");
  reporter.begin(environment, cases);
  for (const Record& record : records) reporter.record(record);
  reporter.end(summary);
}

TableStyle style_of(const ReportShape& shape, bool terminal) {
  return {terminal && use_colour(shape.colour, STDOUT_FILENO), utf8_locale(), shape.quiet,
          shape.columns, shape.sort};
}

/// Sampling is not in records: what nccl-tests' heading says of it is taken from the first one.
Sampling sampling_of(const ReportInputs& inputs) {
  Sampling sampling;
  for (const Record& record : inputs.records()) {
    sampling.iterations = static_cast<int>(record.measurement.latency_ns.size());
    sampling.check = record.measurement.wrong >= 0;
    if (sampling.iterations > 0) break;
  }
  return sampling;
}

void write_page(std::ostream& out, const ReportInputs& inputs, const ReportShape& shape) {
  constexpr std::size_t most_replays = 6;
  HtmlReport report;
  report.title = shape.title;
  report.replays = inputs.replays;
  const std::vector<Replay> again = replays_of(inputs.records(), most_replays, report.notes);
  report.replays.insert(report.replays.end(), again.begin(), again.end());
  report.sources = inputs.sources;
  report.comparison = inputs.comparison ? &*inputs.comparison : nullptr;
  report.history = inputs.history;
  write_html(out, report);
}

void write_records_markdown(std::ostream& out, const ReportInputs& inputs,
                            const ReportShape& shape) {
  std::ostringstream text;
  play(*markdown_reporter(text, style_of(shape, false)), inputs);
  out << fitted_markdown(text.str(), most_comment_bytes);
}

void write_records(std::string_view format, std::ostream& out, const ReportInputs& inputs,
                   const ReportShape& shape) {
  if (format == "table") play(*table_reporter(out, style_of(shape, &out == &std::cout)), inputs);
  if (format == "markdown") write_records_markdown(out, inputs, shape);
  if (format == "junit") play(*junit_reporter(out), inputs);
  if (format == "openmetrics") play(*openmetrics_reporter(out), inputs);
  if (format == "json") play(*json_reporter(out), inputs);
  if (format == "csv") play(*csv_reporter(out, shape.raw_samples), inputs);
  if (format == "gbench") play(*gbench_reporter(out), inputs);
  if (format == "nccl") play(*nccl_reporter(out, sampling_of(inputs)), inputs);
}

/// The formats in which a comparison can be shown; the others are of records.
bool shows_comparison(std::string_view format) {
  return format == "table" || format == "markdown" || format == "junit" ||
         format == "openmetrics" || format == "json";
}

void write_comparison_as(std::string_view format, std::ostream& out, const Comparison& comparison,
                         const ReportShape& shape) {
  if (format == "table") {
    const bool colour = &out == &std::cout && use_colour(shape.colour, STDOUT_FILENO);
    out << comparison_text(comparison, colour, utf8_locale());
  }
  if (format == "markdown") write_markdown(out, comparison, most_comment_bytes);
  if (format == "junit") write_junit(out, comparison);
  if (format == "openmetrics") write_openmetrics(out, comparison);
  if (format == "json") out << to_json(comparison);
}

void write_format(std::string_view format, std::ostream& out, const ReportInputs& inputs,
                  const ReportShape& shape) {
  if (format == "html") {
    write_page(out, inputs, shape);
  } else if (inputs.comparison && shows_comparison(format)) {
    write_comparison_as(format, out, *inputs.comparison, shape);
  } else {
    require(!inputs.sources.empty(),
            fmt::format("{} is of records, and only a comparison was given", format));
    write_records(format, out, inputs, shape);
  }
  out << std::flush;
}

void write_file(const std::string& path, const std::function<void(std::ostream&)>& writer) {
  std::ofstream file(path, std::ios::trunc);
  if (!file) throw Unavailable(fmt::format("cannot write the file '{}'", path));
  writer(file);
  file.close();
  if (!file) throw Error(fmt::format("could not write '{}'", path));
}

}  // namespace

const std::vector<ReportFormat>& report_formats() {
  static const std::vector<ReportFormat> formats = {
      {"html", "one page that works offline"},
      {"markdown", "for a pull request, at most 65,536 bytes"},
      {"junit", "JUnit XML, a test per case"},
      {"openmetrics", "OpenMetrics text"},
      {"json", "records or, if one was given, the comparison"},
      {"csv", "long CSV, a row per case"},
      {"gbench", "Google Benchmark's JSON"},
      {"nccl", "nccl-tests' table"},
      {"table", "for people"},
  };
  return formats;
}

void print_report(const std::string& format, const ReportInputs& inputs, const ReportShape& shape) {
  std::vector<std::string> names;
  for (const ReportFormat& known : report_formats()) names.emplace_back(known.name);
  require(std::find(names.begin(), names.end(), format) != names.end(),
          fmt::format("--format: unknown '{}'.{} Known are {}", format, did_you_mean(format, names),
                      fmt::join(names, ", ")));
  write_format(format, std::cout, inputs, shape);
}

void write_reports(const std::map<std::string, std::string>& files, const ReportInputs& inputs,
                   const ReportShape& shape) {
  for (const auto& [format, path] : files) {
    const std::string_view name = format;
    write_file(path, [&](std::ostream& out) { write_format(name, out, inputs, shape); });
  }
}

void annotate(const ReportInputs& inputs) {
  if (!under_github_actions()) return;
  if (inputs.comparison) write_annotations(std::cerr, *inputs.comparison);
  write_annotations(std::cerr, inputs.records());
}

void write_plot(const std::string& path, const std::vector<Record>& records) {
  if (path.ends_with(".gp")) {
    const std::string picture = path.substr(0, path.size() - 3) + ".svg";
    write_file(path,
               [&](std::ostream& out) { write_gnuplot(out, records, PlotTerminal::svg, picture); });
    return;
  }
  std::ostringstream script;
  write_gnuplot(script, records, plot_terminal(path), path);
  std::cout.flush();
  std::FILE* gnuplot = popen("command -v gnuplot >/dev/null || exit 127; exec gnuplot", "w");
  if (gnuplot == nullptr) throw Error("could not start a shell for gnuplot");
  const std::string text = script.str();
  std::fwrite(text.data(), 1, text.size(), gnuplot);
  const int status = pclose(gnuplot);
  const int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (exit_code == 127) {
    throw Unavailable(fmt::format(
        "gnuplot is not installed (Debian: gnuplot-nox); --plot FILE.gp writes what it would read",
        path));
  }
  if (exit_code != 0) throw Error(fmt::format("gnuplot could not draw '{}'", path));
}

}  // namespace collbench

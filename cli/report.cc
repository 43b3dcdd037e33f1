// `collbench report`: records and comparisons that were made before, in every form that people and
// programs read.
#include <iostream>
#include <sstream>

#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/external_program.h"
#include "cli/gate_options.h"
#include "cli/output_file.h"
#include "cli/report_inputs.h"
#include "cli/reporters.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr const char* files_group = "Files";
constexpr const char* shape_group = "What";

constexpr OptionRow input_rows[] = {
    {arguments_group, "FILE", "", "FILE...", "",
     "records, a comparison, foreign tables, traces or links of simulate", Presence::required},
};

constexpr OptionRow shape_rows[] = {
    {files_group, "plot", "", "FILE", "", "drawn by gnuplot: .svg, .png, .pdf; - for text"},

    {shape_group, "format", "", "NAME", "", "a format on standard output [table]"},
    {shape_group, "filter", "F", "EXPR", "",
     "only such cases, as 'algo:ring bytes>=1M workers:(4|8)'"},
    {shape_group, "history", "", "FILE", "", "for the page: what `collbench history` keeps"},
    {shape_group, "columns", "", "NAME[,..]", "", "columns of the table"},
    {shape_group, "sort", "", "NAME[,..]", "", "rows of the table; -busbw: largest first"},
    {shape_group, "title", "", "TEXT", "", "heading of the page"},
    {shape_group, "color", "", "WHEN", "auto", "auto, always or never"},
    {shape_group, "raw-samples", "", "", "", "CSV has a row per sample"},
    {shape_group, "quiet", "q", "", "", "rows and headings of tables only; no annotations"},
};

std::span<const OptionRow> report_rows() {
  static const std::vector<OptionRow> rows = concatenated(
      {input_rows, file_rows(files_group, FormatsOf::records_and_comparisons), shape_rows});
  return rows;
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

void write_page(std::ostream& out, const ReportInputs& inputs) {
  constexpr std::size_t most_replays = 6;
  HtmlReport report;
  report.title = inputs.title;
  report.replays = inputs.replays;
  const std::vector<Replay> again = replays_of(inputs.records(), most_replays, report.notes);
  report.replays.insert(report.replays.end(), again.begin(), again.end());
  report.sources = inputs.sources;
  report.comparison = inputs.comparison ? &*inputs.comparison : nullptr;
  report.history = inputs.history;
  write_html(out, report);
}

void write_records(const ReportFormat& format, std::ostream& out, const ReportInputs& inputs,
                   FormatOptions options) {
  options.sampling = sampling_of(inputs);
  std::ostringstream text;
  const std::unique_ptr<Reporter> reporter = format.records(text, options);
  show_records({reporter.get()}, inputs.sources.front().file.environment, inputs.records());
  // A comment on a pull request has a limit.
  out << (format.name == "markdown" ? fitted_markdown(text.str(), most_comment_bytes) : text.str());
}

void write_format(const ReportFormat& format, std::ostream& out, const ReportInputs& inputs,
                  const FormatOptions& options) {
  if (format.records == nullptr) {
    write_page(out, inputs);
  } else if (inputs.comparison && format.comparison != nullptr) {
    format.comparison(out, *inputs.comparison, options.style);
  } else {
    require(!inputs.sources.empty(),
            fmt::format("{} is of records, and only a comparison was given", format.name));
    write_records(format, out, inputs, options);
  }
  out << std::flush;
}

/// Writes the files, then standard output. Throws Unavailable or Error naming the file, and
/// InvalidArgument if there is nothing to show in a format.
void write_reports(const Outputs& outputs, const ReportInputs& inputs) {
  const auto write = [&](const std::string& name, const std::string& path) {
    const ReportFormat& format = report_format("--format", name);
    write_output(path,
                 [&](std::ostream& out) { write_format(format, out, inputs, outputs.options); });
  };
  for (const auto& [name, path] : outputs.files) write(name, path);
  if (!outputs.console.empty()) write(outputs.console, "-");
}

/// Under GitHub Actions: annotations of the comparison and of wrong results, to standard error.
void annotate(const ReportInputs& inputs) {
  if (!under_github_actions()) return;
  if (inputs.comparison) write_annotations(std::cerr, *inputs.comparison);
  write_annotations(std::cerr, inputs.records());
}

/// Draws the records with gnuplot; "-" is a picture of characters on standard output, and a name
/// that ends in ".gp" is gnuplot's input. Throws Unavailable if gnuplot is not installed.
void write_plot(const std::string& path, const std::vector<Record>& records) {
  if (path.ends_with(".gp")) {
    const std::string picture = path.substr(0, path.size() - 3) + ".svg";
    write_output(path, [&](std::ostream& out) { write_gnuplot(out, records, picture); });
    return;
  }
  std::ostringstream script;
  write_gnuplot(script, records, path);
  std::cout << run_external({"gnuplot", "gnuplot-nox", "--plot FILE.gp writes what it would read"},
                            script.str());
}

int report_command(const Settings& settings) {
  Outputs outputs = outputs_of(settings, report_format_names());
  const std::string& plot = settings.text("plot");
  require(plot != "-" || outputs.console.empty(),
          "--plot: standard output already carries another format");
  if (outputs.console.empty() && outputs.files.empty() && plot.empty()) outputs.console = "table";
  ReportInputs inputs = read_report_inputs(settings.words("FILE"));
  keep_matching(inputs, settings.text("filter"));
  if (settings.given("title")) inputs.title = settings.text("title");
  if (settings.given("history")) inputs.history = read_history(settings.text("history"));
  write_reports(outputs, inputs);
  if (!plot.empty()) write_plot(plot, inputs.records());
  if (!settings.flag("quiet")) annotate(inputs);
  return exit_ok;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  add_command(app, "report", "show records and comparisons: HTML, Markdown, JUnit and more",
              report_rows(), action, report_command);
}

}  // namespace collbench

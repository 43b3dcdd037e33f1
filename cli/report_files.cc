#include "cli/report_files.h"

#include <iostream>
#include <sstream>

#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "bench/reports/plot_gnuplot.h"
#include "bench/reports/report_verdicts.h"
#include "bench/reports/text.h"
#include "cli/external_program.h"
#include "cli/gate_options.h"
#include "cli/output_file.h"
#include "core/error.h"

namespace collbench {
namespace {

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

}  // namespace

void write_reports(const Outputs& outputs, const ReportInputs& inputs) {
  const auto write = [&](const std::string& name, const std::string& path) {
    const ReportFormat& format = report_format("--format", name);
    write_output(path,
                 [&](std::ostream& out) { write_format(format, out, inputs, outputs.options); });
  };
  for (const auto& [name, path] : outputs.files) write(name, path);
  if (!outputs.console.empty()) write(outputs.console, "-");
}

void annotate(const ReportInputs& inputs) {
  if (!under_github_actions()) return;
  if (inputs.comparison) write_annotations(std::cerr, *inputs.comparison);
  write_annotations(std::cerr, inputs.records());
}

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

}  // namespace collbench

// `collbench report`: records and comparisons that were made before, in every form that people and
// programs read.

#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/report_files.h"
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

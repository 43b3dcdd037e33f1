// `collbench report`: records and comparisons that were made before, in every form that people and
// programs read.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "bench/reports/columns.h"
#include "bench/reports/formats.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/report_files.h"
#include "cli/report_history.h"
#include "cli/report_inputs.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/suggest.h"

namespace collbench {
namespace {

/// The values as they were typed.
struct ReportOptions {
  std::vector<std::string> inputs;
  FilesByFormat files;
  std::string plot;
  std::string history;
  std::string format;
  std::string filter;
  std::string columns;
  std::string sort;
  ReportShape shape;
};

std::vector<std::string> columns_of(const char* option, const std::string& text, bool sorts) {
  if (text.empty()) return {};
  const std::vector<std::string> known = column_names();
  std::vector<std::string> names = parse_list(option, text);
  for (const std::string& name : names) {
    const std::string column = sorts && name.starts_with('-') ? name.substr(1) : name;
    require(std::find(known.begin(), known.end(), column) != known.end(),
            fmt::format("{}: unknown column '{}'.{} Known are {}", option, column,
                        did_you_mean(column, known), fmt::join(known, ", ")));
  }
  return names;
}

/// What goes to standard output: what was asked for, or the table if nothing else was.
std::string console_of(ReportOptions& options) {
  std::string console = options.format;
  for (auto file = options.files.begin(); file != options.files.end();) {
    if (file->second != "-") {
      if (file->second.empty()) {
        file = options.files.erase(file);
      } else {
        ++file;
      }
      continue;
    }
    require(console.empty() && options.plot != "-",
            "two formats want standard output; give one of them a file");
    console = file->first;
    file = options.files.erase(file);
  }
  require(console.empty() || options.plot != "-",
          "two formats want standard output; give one of them a file");
  if (console.empty() && options.files.empty() && options.plot.empty()) return "table";
  return console;
}

int report_command(ReportOptions options) {
  options.shape.columns = columns_of("--columns", options.columns, false);
  options.shape.sort = columns_of("--sort", options.sort, true);
  const std::string console = console_of(options);
  ReportInputs inputs = read_report_inputs(options.inputs);
  keep_matching(inputs, options.filter);
  if (!options.history.empty()) inputs.history = read_history(options.history);
  write_reports(options.files, inputs, options.shape);
  if (!options.plot.empty()) write_plot(options.plot, inputs.records());
  if (!console.empty()) print_report(console, inputs, options.shape);
  if (!options.shape.quiet) annotate(inputs);
  return exit_ok;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App& command =
      add_command(app, "report", "show records and comparisons: HTML, Markdown, JUnit and more",
                  action, [options] { return report_command(*options); });
  add_argument(command, options->inputs, "FILE...",
               "records, a comparison, foreign tables, traces or links of simulate",
               Presence::required);
  for (const ReportFormat& format : report_formats()) {
    if (format.name == "table") continue;  // for --format
    add_option(command, options->files[std::string(format.name)], fmt::format("--{}", format.name),
               "FILE", std::string(format.help), "Files");
  }
  add_option(command, options->plot, "--plot", "FILE",
             "drawn by gnuplot: .svg, .png, .pdf; - for text", "Files");
  const auto add = [&](const char* name, std::string& value, const char* metavar,
                       const char* help) {
    add_option(command, value, name, metavar, help, "What");
  };
  add("--format", options->format, "NAME", "a format on standard output [table]");
  add("-F,--filter", options->filter, "EXPR",
      "only such cases, as 'algo:ring bytes>=1M workers:(4|8)'");
  add("--history", options->history, "FILE", "for the page: what `collbench history` keeps");
  add("--columns", options->columns, "NAME[,..]", "columns of the table");
  add("--sort", options->sort, "NAME[,..]", "rows of the table; -busbw: largest first");
  add("--title", options->shape.title, "TEXT", "heading of the page");
  add("--color", options->shape.colour, "WHEN", "auto, always or never [auto]");
  add_switch(command, options->shape.raw_samples, "--raw-samples", "CSV has a row per sample",
             "What");
  add_switch(command, options->shape.quiet, "-q,--quiet",
             "rows and headings of tables only; no annotations", "What");
}

}  // namespace collbench

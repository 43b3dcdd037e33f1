// `collbench report`: records and comparisons that were made before, in every form that people and
// programs read.
#include <algorithm>
#include <csignal>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/report_columns.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/report_files.h"
#include "cli/report_history.h"
#include "cli/report_inputs.h"
#include "cli/values.h"
#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

/// The values as they were typed.
struct ReportOptions {
  std::vector<std::string> inputs;
  std::map<std::string, std::string> files;  // by format
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
  if (!options.plot.empty()) {
    std::signal(SIGPIPE, SIG_IGN);  // gnuplot may end before it has read all
    write_plot(options.plot, inputs.records());
  }
  if (!console.empty()) print_report(console, inputs, options.shape);
  if (!options.shape.quiet) annotate(inputs);
  return exit_ok;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      app.add_subcommand("report", "show records and comparisons: HTML, Markdown, JUnit and more");
  command
      ->add_option("FILE", options->inputs,
                   "records, a comparison, foreign tables, traces or links of simulate")
      ->option_text("FILE...")
      ->group("Arguments")
      ->required();
  const auto add = [&](const char* group, const char* name, std::string& value, const char* metavar,
                       const std::string& help) {
    command->add_option(name, value, help)->option_text(metavar)->group(group);
  };
  for (const ReportFormat& format : report_formats()) {
    if (format.name == "table") continue;
    add("Files", fmt::format("--{}", format.name).c_str(), options->files[std::string(format.name)],
        "FILE", std::string(format.help));
  }
  add("Files", "--plot", options->plot, "FILE", "drawn by gnuplot: .svg, .png, .pdf; - for text");
  add("What", "--format", options->format, "NAME", "a format on standard output [table]");
  add("What", "-F,--filter", options->filter, "EXPR",
      "only such cases, as 'algo:ring bytes>=1M workers:(4|8)'");
  add("What", "--history", options->history, "FILE",
      "for the page: what `collbench history` keeps");
  add("What", "--columns", options->columns, "NAME[,..]", "columns of the table");
  add("What", "--sort", options->sort, "NAME[,..]", "rows of the table; -busbw: largest first");
  add("What", "--title", options->shape.title, "TEXT", "heading of the page");
  add("What", "--color", options->shape.colour, "WHEN", "auto, always or never [auto]");
  command->add_flag("--raw-samples", options->shape.raw_samples, "CSV has a row per sample")
      ->group("What");
  command
      ->add_flag("-q,--quiet", options->shape.quiet,
                 "rows and headings of tables only; no annotations")
      ->group("What");
  command->callback(
      [options, &action] { action = [options] { return report_command(*options); }; });
}

}  // namespace collbench

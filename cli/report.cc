// `collbench report`: records that were made before, in every form that people and programs read.
#include "bench/report.h"

#include <fstream>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/html_report.h"
#include "bench/replay.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/report_inputs.h"
#include "cli/terminal.h"
#include "core/error.h"

namespace collbench {
namespace {

struct ReportOptions {
  std::vector<std::string> files;
  std::string html;
  std::string title;
  std::string filter;
};

constexpr std::size_t most_replays = 6;

std::ofstream open_file(const std::string& path) {
  std::ofstream file(path);
  if (!file) throw Unavailable(fmt::format("cannot write the file '{}'", path));
  return file;
}

void write_html_file(const ReportOptions& options, ReportInputs& inputs) {
  HtmlReport report;
  report.title = options.title;
  report.replays = replays_of(inputs.records(), most_replays, report.notes);
  report.sources = std::move(inputs.sources);
  report.comparison = inputs.comparison ? &*inputs.comparison : nullptr;
  std::ofstream file = open_file(options.html);
  write_html(file, report);
  file.close();
  if (!file) throw Error(fmt::format("could not write '{}'", options.html));
}

int report_command(const ReportOptions& options) {
  ReportInputs inputs = read_report_inputs(options.files);
  keep_matching(inputs, options.filter);
  if (!options.html.empty()) write_html_file(options, inputs);
  return exit_ok;
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "show records: HTML, Markdown, JUnit and more");
  command->add_option("RECORDS", options->files, "files that --json, sweep or merge wrote")
      ->option_text("RECORDS...")
      ->group("Arguments")
      ->required();
  command->add_option("--html", options->html, "one page that works offline")->option_text("FILE");
  options->title = "collbench report";
  command->add_option("--title", options->title, "heading of the page")->option_text("TEXT");
  command->add_option("-F,--filter", options->filter, "only these cases")->option_text("EXPR");
  command->callback(
      [options, &action] { action = [options] { return report_command(*options); }; });
}

}  // namespace collbench

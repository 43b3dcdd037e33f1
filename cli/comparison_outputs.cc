#include "cli/comparison_outputs.h"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>

#include <fmt/format.h>

#include "bench/reports/report_verdicts.h"
#include "bench/verdicts/verdict_json.h"
#include "cli/declare.h"
#include "core/error.h"

namespace collbench {
namespace {

void write_file(const std::string& path, std::ios::openmode mode,
                const std::function<void(std::ostream&)>& writer) {
  if (path.empty()) return;
  std::ofstream file(path, mode);
  if (!file) throw Unavailable(fmt::format("cannot write the file '{}'", path));
  writer(file);
  file.close();
  if (!file) throw Error(fmt::format("could not write '{}'", path));
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? "" : value;
}

}  // namespace

bool under_github_actions() { return environment_variable("GITHUB_ACTIONS") == "true"; }

void declare_comparison_outputs(CLI::App& command, ComparisonOutputs& outputs) {
  const auto declare = [&](const char* name, std::string& value, const char* help) {
    add_option(command, value, name, "FILE", help, "Output");
  };
  declare("--json", outputs.json, "all verdicts and rounds; `collbench report` reads it");
  declare("--markdown", outputs.markdown, "a comment for the pull request, at most 65,536 bytes");
  declare("--junit", outputs.junit, "JUnit XML, a test per case");
  declare("--openmetrics", outputs.openmetrics, "OpenMetrics text");
}

void write_comparison(const Comparison& comparison, const ComparisonOutputs& outputs) {
  write_file(outputs.json, std::ios::trunc, [&](std::ostream& out) { out << to_json(comparison); });
  write_file(outputs.markdown, std::ios::trunc,
             [&](std::ostream& out) { write_markdown(out, comparison, most_comment_bytes); });
  write_file(outputs.junit, std::ios::trunc,
             [&](std::ostream& out) { write_junit(out, comparison); });
  write_file(outputs.openmetrics, std::ios::trunc,
             [&](std::ostream& out) { write_openmetrics(out, comparison); });
  if (!under_github_actions()) return;
  write_annotations(std::cerr, comparison);
  // Other steps write there too, so it is appended to.
  write_file(environment_variable("GITHUB_STEP_SUMMARY"), std::ios::app,
             [&](std::ostream& out) { write_markdown(out, comparison, most_summary_bytes); });
}

}  // namespace collbench

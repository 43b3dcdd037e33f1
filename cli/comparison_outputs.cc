#include "cli/comparison_outputs.h"

#include <cstdlib>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "bench/reports/report_verdicts.h"
#include "cli/declare.h"
#include "cli/output_file.h"
#include "core/error.h"

namespace collbench {
namespace {

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return value == nullptr ? "" : value;
}

}  // namespace

bool under_github_actions() { return environment_variable("GITHUB_ACTIONS") == "true"; }

void declare_comparison_outputs(CLI::App& command, FilesByFormat& files) {
  for (const ReportFormat& format : report_formats()) {
    if (format.comparison == nullptr || format.name == "table") continue;
    add_option(command, files[std::string(format.name)], fmt::format("--{}", format.name), "FILE",
               std::string(format.help), "Output");
  }
}

void write_comparison(const Comparison& comparison, const FilesByFormat& files) {
  for (const auto& [name, path] : files) {
    const ReportFormat& format = report_format("a file's format", name);
    write_output(path, [&](std::ostream& out) { format.comparison(out, comparison, {}); });
  }
  if (!under_github_actions()) return;
  write_annotations(std::cerr, comparison);
  // Other steps write there too, so it is appended to.
  const std::string summary = environment_variable("GITHUB_STEP_SUMMARY");
  if (summary.empty()) return;
  std::ofstream out(summary, std::ios::app);
  write_markdown(out, comparison, most_summary_bytes);
  out.close();
  if (!out) throw Error("could not write '" + summary + "'");
}

}  // namespace collbench

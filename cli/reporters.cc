#include "cli/reporters.h"

#include <algorithm>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "cli/config_file.h"
#include "cli/terminal.h"
#include "core/error.h"

namespace collbench {

ReporterSet::ReporterSet(const Settings& settings, const Outputs& outputs,
                         const Sampling& sampling) {
  const TableStyle style{use_colour(settings.text("color"), 1), utf8_locale(),
                         settings.flag("quiet"), outputs.columns, outputs.sort};
  if (outputs.console == "table") add(table_reporter(std::cout, style));
  if (outputs.console == "markdown") add(markdown_reporter(std::cout, style));
  if (outputs.console == "nccl") add(nccl_reporter(std::cout, sampling));
  if (outputs.console == "csv") add(csv_reporter(std::cout, outputs.raw_samples));
  if (outputs.console == "json") add(json_reporter(std::cout));
  if (outputs.console == "gbench") add(gbench_reporter(std::cout));
  if (!outputs.json.empty()) add(json_file_reporter(outputs.json));
  if (!outputs.csv.empty()) add(csv_reporter(open(outputs.csv), outputs.raw_samples));
  if (!outputs.markdown.empty()) add(markdown_reporter(open(outputs.markdown), style));
  if (!outputs.gbench.empty()) add(gbench_reporter(open(outputs.gbench)));
}

ReporterSet::~ReporterSet() = default;

std::vector<Reporter*> ReporterSet::pointers() const {
  std::vector<Reporter*> all;
  for (const auto& reporter : reporters_) all.push_back(reporter.get());
  return all;
}

void ReporterSet::close() {
  for (auto& [path, file] : files_) {
    file->close();
    if (!*file) throw Error(fmt::format("could not write '{}'", path));
  }
}

std::ostream& ReporterSet::open(const std::string& path) {
  auto file = std::make_unique<std::ofstream>(path);
  if (!*file) throw Unavailable(fmt::format("cannot write the file '{}'", path));
  files_.emplace_back(path, std::move(file));
  return *files_.back().second;
}

std::string command_line() {
  std::string text = read_text_file("/proc/self/cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

}  // namespace collbench

#include "cli/reporters.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "cli/config_file.h"
#include "cli/terminal.h"
#include "core/error.h"

namespace collbench {

ReporterSet::ReporterSet(const Settings& settings, const Outputs& outputs,
                         const Sampling& sampling) {
  const TableStyle style{use_colour(settings.text("color"), 1), utf8_locale(),
                         settings.flag("quiet"), outputs.columns, outputs.sort};
  const FormatOptions options{style, sampling, outputs.raw_samples};
  add(report_format("--format", outputs.console).records(std::cout, options));
  for (const auto& [name, path] : outputs.files) {
    // A file of JSON is there after every record, so that a run that is killed keeps what it had.
    add(name == "json" ? json_file_reporter(path)
                       : report_format("--format", name).records(open(path), options));
  }
}

ReporterSet::~ReporterSet() = default;

std::vector<Reporter*> ReporterSet::pointers() const {
  std::vector<Reporter*> all;
  for (const auto& reporter : reporters_) all.push_back(reporter.get());
  return all;
}

void ReporterSet::close() {
  for (const auto& file : files_) file->commit();
}

std::ostream& ReporterSet::open(const std::string& path) {
  files_.push_back(std::make_unique<OutputFile>(path));
  return files_.back()->stream();
}

std::string command_line() {
  std::string text = read_text_file("/proc/self/cmdline");
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

}  // namespace collbench

#include "cli/output_file.h"

#include <iostream>
#include <string>

#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "core/error.h"
#include "core/output_file.h"

namespace collbench {

void write_output(const std::string& path, const std::function<void(std::ostream&)>& writer) {
  if (path.empty()) return;
  if (path == "-") {
    writer(std::cout);
    if (!std::cout.flush()) throw Error("could not write to the standard output");
    return;
  }
  OutputFile file(path);
  writer(file.stream());
  file.commit();
}

void require_writable(const Settings& settings, std::initializer_list<const char*> options) {
  std::string shown;  // on standard output
  for (const char* option : options) {
    const std::string& path = settings.text(option);
    if (path == "-") {
      require(shown.empty(), fmt::format("{} and {} are both -: standard output has room for one",
                                         shown, settings.label(option)));
      shown = settings.label(option);
    } else if (!path.empty()) {
      require_writable(path);
    }
  }
}

std::vector<OptionRow> file_rows(const char* group, FormatsOf what) {
  std::vector<OptionRow> rows;
  for (const ReportFormat& format : report_formats()) {
    if (what == FormatsOf::comparisons && format.comparison == nullptr) continue;
    if (format.name != "table") rows.push_back({group, format.name, "", "FILE", "", format.help});
  }
  return rows;
}

}  // namespace collbench

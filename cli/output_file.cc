#include "cli/output_file.h"

#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "core/error.h"

namespace collbench {

void write_output(const std::string& path, const std::function<void(std::ostream&)>& writer,
                  std::ios::openmode mode) {
  if (path.empty()) return;
  if (path == "-") {
    writer(std::cout);
    return;
  }
  std::ofstream file(path, mode);
  if (!file) throw Unavailable(fmt::format("cannot write the file '{}'", path));
  writer(file);
  file.close();
  if (!file) throw Error(fmt::format("could not write '{}'", path));
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

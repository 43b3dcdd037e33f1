#include "bench/reports/formats.h"

#include "core/suggest.h"

namespace collbench {

// Each is defined in the file of its name, which says what it shows and how.
using MakeFormat = ReportFormat();
MakeFormat html_format, markdown_format, junit_format, openmetrics_format, json_format, csv_format,
    gbench_format, nccl_format, table_format;

std::span<const ReportFormat> report_formats() {
  static const ReportFormat formats[] = {html_format(),        markdown_format(), junit_format(),
                                         openmetrics_format(), json_format(),     csv_format(),
                                         gbench_format(),      nccl_format(),     table_format()};
  return formats;
}

std::vector<std::string> report_format_names() {
  std::vector<std::string> names;
  for (const ReportFormat& format : report_formats()) names.emplace_back(format.name);
  return names;
}

std::vector<std::string> record_format_names() {
  std::vector<std::string> names;
  for (const ReportFormat& format : report_formats()) {
    if (format.records != nullptr) names.emplace_back(format.name);
  }
  return names;
}

const ReportFormat& report_format(const std::string& label, std::string_view name) {
  return report_formats()[require_known(label, name, report_format_names())];
}

}  // namespace collbench

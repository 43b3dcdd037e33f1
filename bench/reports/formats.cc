#include "bench/reports/formats.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "bench/reports/report_verdicts.h"
#include "bench/verdicts/verdict_json.h"
#include "core/error.h"
#include "core/require_known.h"

namespace collbench {
namespace {

using FormatOptionsRef = const FormatOptions&;

const ReportFormat formats[] = {
    {"html", "one page that works offline"},
    {"markdown", "for a pull request, at most 65,536 bytes",
     [](std::ostream& out, FormatOptionsRef options) {
       return markdown_reporter(out, options.style);
     },
     [](std::ostream& out, const Comparison& comparison, const TableStyle&) {
       write_markdown(out, comparison, most_comment_bytes);
     }},
    {"junit", "JUnit XML, a test per case",
     [](std::ostream& out, FormatOptionsRef) { return junit_reporter(out); },
     [](std::ostream& out, const Comparison& comparison, const TableStyle&) {
       write_junit(out, comparison);
     }},
    {"openmetrics", "OpenMetrics text",
     [](std::ostream& out, FormatOptionsRef) { return openmetrics_reporter(out); },
     [](std::ostream& out, const Comparison& comparison, const TableStyle&) {
       write_openmetrics(out, comparison);
     }},
    {"json", "all samples or, of a comparison, all verdicts and rounds",
     [](std::ostream& out, FormatOptionsRef) { return json_reporter(out); },
     [](std::ostream& out, const Comparison& comparison, const TableStyle&) {
       out << to_json(comparison);
     }},
    {"csv", "long CSV, a row per case",
     [](std::ostream& out, FormatOptionsRef options) {
       return csv_reporter(out, options.raw_samples);
     }},
    {"gbench", "Google Benchmark's JSON",
     [](std::ostream& out, FormatOptionsRef) { return gbench_reporter(out); }},
    {"nccl", "nccl-tests' table",
     [](std::ostream& out, FormatOptionsRef options) {
       return nccl_reporter(out, options.sampling);
     }},
    {"table", "for people",
     [](std::ostream& out, FormatOptionsRef options) { return table_reporter(out, options.style); },
     [](std::ostream& out, const Comparison& comparison, const TableStyle& style) {
       out << comparison_text(comparison, style);
     }},
};

}  // namespace

std::span<const ReportFormat> report_formats() { return formats; }

std::vector<std::string> report_format_names() {
  std::vector<std::string> names;
  for (const ReportFormat& format : formats) names.emplace_back(format.name);
  return names;
}

std::vector<std::string> record_format_names() {
  std::vector<std::string> names;
  for (const ReportFormat& format : formats) {
    if (format.records != nullptr) names.emplace_back(format.name);
  }
  return names;
}

const ReportFormat& report_format(const std::string& label, std::string_view name) {
  require_known(label, name, report_format_names());
  return *std::ranges::find(formats, name, &ReportFormat::name);
}

}  // namespace collbench

// A job's logs for people: the answer first, then what it rests on. Markdown for a ticket has the
// same lines, CSV the rows.
#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/logs/job_lines.h"
#include "bench/reports/text.h"

namespace collbench {

void write_job_text(std::ostream& out, const JobReport& report) {
  out << "# " << job_source_line(report) << '\n';
  for (const JobAnswer& answer : job_answers(report)) out << answer.text << '\n';
  for (const std::string& line :
       {job_exposure_line(report.verdict), job_wait_line(report.verdict)}) {
    if (!line.empty()) out << line << '\n';
  }
  for (std::size_t c = 0; c < report.job.communicators.size(); ++c) {
    const std::vector<std::size_t> rows = job_rows_of(report, c);
    if (rows.empty()) continue;
    out << '\n' << communicator_heading(report.job.communicators[c]) << '\n';
    std::vector<std::vector<std::string>> table{job_heading(report)};
    for (const std::size_t row : rows) table.push_back(job_row(report, row));
    const auto is_name = [&](std::size_t column) {
      const std::string& name = table.front()[column];
      return column == 0 || name == "algorithm" || name == "best choice";
    };
    for (const std::string& line : aligned_lines(table, is_name)) out << "  " << line << '\n';
  }
  if (!report.verdict.causes.empty()) out << "\nfound:\n";
  for (const FoundCause& found : report.verdict.causes) out << "  " << describe(found);
  const std::vector<std::string> lines = job_remarks(report.job);
  if (!lines.empty()) out << '\n';
  for (const std::string& line : lines) out << "# " << line << '\n';
}

void write_job_markdown(std::ostream& out, const JobReport& report) {
  out << "**" << escaped_for_markdown(job_source_line(report)) << "**\n\n";
  for (const JobAnswer& answer : job_answers(report)) {
    out << "- " << escaped_for_markdown(answer.text) << '\n';
  }
  for (std::size_t c = 0; c < report.job.communicators.size(); ++c) {
    const std::vector<std::size_t> rows = job_rows_of(report, c);
    if (rows.empty()) continue;
    out << '\n'
        << escaped_for_markdown(communicator_heading(report.job.communicators[c])) << "\n\n";
    const std::vector<std::string> names = job_heading(report);
    std::string rule = "|";
    for (std::size_t n = 0; n < names.size(); ++n) rule += n == 0 ? ":--|" : "--:|";
    out << fmt::format("| {} |\n{}\n", fmt::join(names, " | "), rule);
    for (const std::size_t row : rows) {
      std::string line = "|";
      for (const std::string& cell : job_row(report, row)) {
        line += fmt::format(" {} |", escaped_for_markdown(cell));
      }
      out << line << '\n';
    }
  }
  if (!report.verdict.causes.empty()) out << '\n';
  for (const FoundCause& found : report.verdict.causes) out << describe_markdown(found);
  const std::vector<std::string> lines = job_remarks(report.job);
  if (!lines.empty()) out << '\n';
  for (const std::string& line : lines) out << "- " << escaped_for_markdown(line) << '\n';
}

void write_job_csv(std::ostream& out, const JobReport& report) {
  out << "communicator,ranks,collective,bytes,count,transfer_us,exec_us,busbw_transfer_gbs,"
         "algorithm,protocol,elements\n";
  const auto number = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.3f}", value) : std::string();
  };
  const auto plain = [](std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c == ',' || c == '"' || c == '\n'; }, ' ');
    return text;
  };
  for (const SizeFigures& row : report.verdict.sizes) {
    const JobCommunicator& one =
        report.job.communicators[static_cast<std::size_t>(row.communicator)];
    out << fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{}\n", plain(one.id), one.ranks, to_string(row.kind),
        row.bytes, row.operations, number(row.transfer_us), number(row.duration_us),
        number(row.bus_gbs), plain(report.job.words[row.algorithm]),
        plain(report.job.words[row.protocol]), plain(report.job.words[row.elements]));
  }
}

}  // namespace collbench

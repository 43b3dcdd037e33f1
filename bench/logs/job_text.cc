// A job's logs for people: the answer first, then what it rests on. Markdown for a ticket has the
// same lines, CSV the rows.
#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

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
  for (const JobTable& table : job_tables(report)) {
    out << '\n' << table.title << '\n';
    const auto is_name = [&](std::size_t column) {
      const std::string& name = table.rows.front()[column];
      return column == 0 || name == "algorithm" || name == "best choice";
    };
    for (const std::string& line : aligned_lines(table.rows, is_name)) out << "  " << line << '\n';
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
  for (const JobTable& table : job_tables(report)) {
    out << '\n' << escaped_for_markdown(table.title) << "\n\n";
    for (const std::vector<std::string>& row : table.rows) {
      out << '|';
      for (const std::string& cell : row) out << fmt::format(" {} |", escaped_for_markdown(cell));
      out << '\n';
      if (&row != table.rows.data()) continue;
      out << '|';
      for (std::size_t n = 0; n < row.size(); ++n) out << (n == 0 ? ":--|" : "--:|");
      out << '\n';
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

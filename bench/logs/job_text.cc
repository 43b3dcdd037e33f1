// A job's logs for people: the answer first, then what it rests on. Markdown for a ticket has the
// same lines, CSV the rows.
#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/logs/job_report.h"
#include "bench/reports/text.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

std::string source_line(const JobReport& report) {
  const JobLog& job = report.job;
  std::string line =
      fmt::format("{}: {}", fmt::join(job.formats, ", "), counted(job.files, "file"));
  if (!job.records.empty()) {
    line +=
        fmt::format(", {} of {}", counted(static_cast<std::int64_t>(job.records.size()), "record"),
                    counted(static_cast<std::int64_t>(job.communicators.size()), "communicator"));
  }
  if (!job.programs.empty()) {
    line += ", " + counted(static_cast<std::int64_t>(job.programs.size()), "rank");
  }
  return line;
}

std::string network_line(const NetworkVerdict& network) {
  if (network.state == NetworkState::unknown) {
    return "network: cannot be told from this, because " + network.unknown;
  }
  return fmt::format("network: {}: {} GB/s on the bus without waiting, {} GB/s expected ({}{})",
                     to_string(network.state), significant(network.measured_gbs, 3),
                     significant(network.expected_gbs, 3),
                     network.assumed ? "nothing was stated; assumed is " : "", network.basis);
}

std::string late_line(const Lateness& lateness) {
  if (!lateness.unknown.empty()) {
    return "late rank: cannot be told from this, because " + lateness.unknown;
  }
  if (lateness.spread) {
    return fmt::format(
        "late rank: none in particular: waiting is {:.0f} % of the transfers, by turns for all",
        100 * lateness.waiting_share);
  }
  if (lateness.late.empty()) {
    return fmt::format("late rank: none: waiting is {:.0f} % of the transfers",
                       100 * lateness.waiting_share);
  }
  return fmt::format("late rank: {}{}: last in {} of {} operations", fmt::join(lateness.late, ", "),
                     lateness.sporadic() ? ", now and then" : "", lateness.blamed,
                     lateness.operations);
}

std::string standstill_line(const Standstill& still) {
  if (!still.sequence) {
    return still.behind.empty() ? ""
                                : fmt::format("behind: rank {}", fmt::join(still.behind, ", "));
  }
  return fmt::format("stands still: collective {} of '{}', {}", *still.sequence, still.communicator,
                     still.missing.empty()
                         ? "which all ranks whose logs are here have issued"
                         : fmt::format("not issued by rank {}", fmt::join(still.missing, ", ")));
}

std::vector<std::string> program_lines(const JobLog& job) {
  std::vector<std::string> lines;
  constexpr std::size_t most_lines = 8;
  for (const LoggedProgram& program : job.programs) {
    if (lines.size() == most_lines) {
      lines.push_back(fmt::format("... and {} more ranks", job.programs.size() - most_lines));
      break;
    }
    std::string line = fmt::format("rank {}: {}, {} of them computing", program.rank,
                                   counted(program.operations, "operation"), program.compute_nodes);
    if (program.bytes_sent > 0) line += ", sends " + to_string(Bytes{program.bytes_sent});
    if (!program.acyclic) line += "; its dependencies have a cycle";
    if (program.free_collectives > 0) {
      line +=
          fmt::format("; {} without any dependency would start at time 0: the trace is defective",
                      counted(program.free_collectives, "collective"));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

/// The answers, a line each.
std::vector<std::string> answers(const JobReport& report) {
  std::vector<std::string> lines;
  const JobVerdict& verdict = report.verdict;
  if (!report.job.records.empty()) {
    lines.push_back(network_line(verdict.network));
    lines.push_back(late_line(verdict.lateness));
  }
  const std::string still = standstill_line(verdict.standstill);
  if (!still.empty()) lines.push_back(still);
  for (std::string& line : program_lines(report.job)) lines.push_back(std::move(line));
  const double exposed = verdict.duration_us.empty() ? unknown_time : verdict.duration_us.front();
  if (std::isfinite(exposed) && std::isfinite(verdict.transfer_us)) {
    lines.push_back(fmt::format(
        "rank 0 spent {} in {}, {} of it transferring: {:.0f} % is waiting",
        time_text(Seconds{exposed * 1e-6}), counted(verdict.operations, to_string(verdict.kind)),
        time_text(Seconds{verdict.transfer_us * 1e-6}), 100 * (1 - verdict.transfer_us / exposed)));
  }
  return lines;
}

/// Hidden communication costs nothing, whatever it waited for.
std::string exposure_line(const JobVerdict& verdict) {
  for (std::size_t rank = 0; rank < verdict.exposures.size(); ++rank) {
    const Exposure& one = verdict.exposures[rank];
    if (!(one.communication_us > 0)) continue;
    return fmt::format("rank {}: {} of {} of communication have no computing beside them", rank,
                       time_text(Seconds{one.exposed_us * 1e-6}),
                       time_text(Seconds{one.communication_us * 1e-6}));
  }
  return {};
}

using Cells = std::vector<std::string>;

std::string number_cell(double value) { return std::isfinite(value) ? significant(value) : "-"; }

bool says_elements(const JobReport& report) {
  return std::any_of(report.verdict.sizes.begin(), report.verdict.sizes.end(),
                     [](const SizeFigures& row) { return row.elements != 0; });
}

Cells heading(const JobReport& report) {
  Cells cells{"collective",      "bytes", "count",    "transfer us",
              "with waiting us", "GB/s",  "algorithm"};
  if (says_elements(report)) cells.emplace_back("elements");
  if (!report.choices.empty()) {
    cells.insert(cells.end(), {"predicted us", "best choice", "regret"});
  }
  return cells;
}

Cells row_cells(const JobReport& report, std::size_t i) {
  const SizeFigures& row = report.verdict.sizes[i];
  std::string algorithm = report.job.words[row.algorithm];
  if (row.protocol != 0) algorithm += ", " + report.job.words[row.protocol];
  Cells cells{std::string(to_string(row.kind)),   to_string(Bytes{row.bytes}),
              std::to_string(row.operations),     number_cell(row.transfer_us),
              number_cell(row.duration_us),       number_cell(row.bus_gbs),
              algorithm.empty() ? "-" : algorithm};
  if (says_elements(report)) {
    cells.push_back(row.elements == 0 ? "-" : report.job.words[row.elements]);
  }
  if (report.choices.empty()) return cells;
  for (const ChoiceOnMachine& choice : report.choices) {
    if (choice.row != i) continue;
    cells.push_back(number_cell(choice.expected.count() * 1e6));
    cells.push_back(choice.best);
    cells.push_back(fmt::format("{:.1f} %", 100 * choice.regret()));
    return cells;
  }
  cells.insert(cells.end(), {"-", "-", "-"});
  return cells;
}

std::string communicator_line(const JobCommunicator& one) {
  std::string line = one.name.empty() || one.name == one.id
                         ? fmt::format("communicator {}", one.id)
                         : fmt::format("communicator '{}' ({})", one.name, one.id);
  line += one.ranks > 0 ? fmt::format(", {} ranks", one.ranks) : ", ranks not said";
  if (one.nodes > 0) line += fmt::format(" on {}", counted(one.nodes, "host"));
  return line;
}

std::vector<std::size_t> rows_of(const JobReport& report, std::size_t communicator) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < report.verdict.sizes.size(); ++i) {
    if (report.verdict.sizes[i].communicator == static_cast<int>(communicator)) rows.push_back(i);
  }
  return rows;
}

/// What was not used, and remarks.
std::vector<std::string> remarks(const JobLog& job) {
  std::vector<std::string> lines;
  for (const auto& [what, count] : job.left_out) {
    lines.push_back(fmt::format("left out: {} x {}", count, what));
  }
  lines.insert(lines.end(), job.notes.begin(), job.notes.end());
  return lines;
}

std::string wait_line(const JobVerdict& verdict) {
  constexpr std::size_t most_ranks = 16;
  std::string line;
  for (std::size_t r = 0; r < std::min(verdict.mean_wait_us.size(), most_ranks); ++r) {
    line += fmt::format("{}{}", r == 0 ? "" : ", ", number_cell(verdict.mean_wait_us[r]));
  }
  const bool any = std::any_of(verdict.mean_wait_us.begin(), verdict.mean_wait_us.end(),
                               [](double wait) { return std::isfinite(wait); });
  if (!any) return {};
  return fmt::format("mean waiting by rank, us: {}{}", line,
                     verdict.mean_wait_us.size() > most_ranks ? ", ..." : "");
}

}  // namespace

void write_job_text(std::ostream& out, const JobReport& report) {
  out << "# " << source_line(report) << '\n';
  for (const std::string& line : answers(report)) out << line << '\n';
  for (const std::string& line : {exposure_line(report.verdict), wait_line(report.verdict)}) {
    if (!line.empty()) out << line << '\n';
  }
  for (std::size_t c = 0; c < report.job.communicators.size(); ++c) {
    const std::vector<std::size_t> rows = rows_of(report, c);
    if (rows.empty()) continue;
    out << '\n' << communicator_line(report.job.communicators[c]) << '\n';
    std::vector<Cells> table{heading(report)};
    for (const std::size_t row : rows) table.push_back(row_cells(report, row));
    const auto is_name = [&](std::size_t column) {
      const std::string& name = table.front()[column];
      return column == 0 || name == "algorithm" || name == "best choice";
    };
    for (const std::string& line : aligned_lines(table, is_name)) out << "  " << line << '\n';
  }
  if (!report.verdict.causes.empty()) out << "\nfound:\n";
  for (const FoundCause& found : report.verdict.causes) out << "  " << describe(found);
  const std::vector<std::string> lines = remarks(report.job);
  if (!lines.empty()) out << '\n';
  for (const std::string& line : lines) out << "# " << line << '\n';
}

void write_job_markdown(std::ostream& out, const JobReport& report) {
  out << "**" << escaped_for_markdown(source_line(report)) << "**\n\n";
  for (const std::string& line : answers(report)) out << "- " << escaped_for_markdown(line) << '\n';
  for (std::size_t c = 0; c < report.job.communicators.size(); ++c) {
    const std::vector<std::size_t> rows = rows_of(report, c);
    if (rows.empty()) continue;
    out << '\n' << escaped_for_markdown(communicator_line(report.job.communicators[c])) << "\n\n";
    const Cells names = heading(report);
    std::string rule = "|";
    for (std::size_t n = 0; n < names.size(); ++n) rule += n == 0 ? ":--|" : "--:|";
    out << fmt::format("| {} |\n{}\n", fmt::join(names, " | "), rule);
    for (const std::size_t row : rows) {
      std::string line = "|";
      for (const std::string& cell : row_cells(report, row)) {
        line += fmt::format(" {} |", escaped_for_markdown(cell));
      }
      out << line << '\n';
    }
  }
  if (!report.verdict.causes.empty()) out << '\n';
  for (const FoundCause& found : report.verdict.causes) out << describe_markdown(found);
  const std::vector<std::string> lines = remarks(report.job);
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

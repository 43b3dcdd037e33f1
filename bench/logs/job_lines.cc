#include "bench/logs/job_lines.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/reports/text.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using Cells = std::vector<std::string>;

/// Which communicator it is, where others are well.
std::string healthy_elsewhere(const NetworkVerdict& network) {
  if (network.healthy_others == 0) return {};
  return fmt::format("; this is {}, and the network of {} is healthy", network.where,
                     counted(network.healthy_others, "other communicator"));
}

std::string network_line(const NetworkVerdict& network) {
  const std::string where = healthy_elsewhere(network);
  if (network.state == NetworkState::unknown) {
    return "network: cannot be told from this, because " + network.unknown + where;
  }
  const std::string stated = network.not_asked.empty() ? "nothing was stated" : network.not_asked;
  return fmt::format("network: {}: {} GB/s on the bus without waiting, {} GB/s expected ({}{}){}",
                     to_string(network.state), significant(network.measured_gbs, 3),
                     significant(network.expected_gbs, 3),
                     network.assumed ? stated + "; assumed is " : "", network.basis, where);
}

/// What nobody is to blame for.
std::string held_up_words(const Lateness& lateness) {
  if (!(lateness.held_up_share > 0)) return {};
  if (lateness.held_up_share >= 0.995) {
    return ", as all of it is for ranks that were held up themselves";
  }
  return fmt::format(" without the {:.0f} % of it for ranks that were held up themselves",
                     100 * lateness.held_up_share);
}

/// "2, 5", and the names of processes where the log does not say their ranks.
std::string rank_list(const std::vector<int>& ranks, const std::map<int, std::string>& names) {
  std::vector<std::string> words;
  for (const int rank : ranks) {
    const auto name = names.find(rank);
    words.push_back(name == names.end() ? std::to_string(rank)
                                        : fmt::format("{} ({})", rank, name->second));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string late_line(const JobVerdict& verdict) {
  const Lateness& lateness = verdict.lateness;
  if (!lateness.unknown.empty()) {
    return "late rank: cannot be told from this, because " + lateness.unknown;
  }
  if (lateness.spread) {
    return fmt::format(
        "late rank: none in particular: waiting is {:.0f} % of the transfers{}, by turns for "
        "several",
        100 * lateness.waiting_share, held_up_words(lateness));
  }
  if (lateness.late.empty()) {
    return fmt::format("late rank: none: waiting is {:.0f} % of the transfers{}",
                       100 * lateness.waiting_share, held_up_words(lateness));
  }
  std::string line = "late rank: " + rank_list(lateness.late, verdict.counted_ranks);
  if (!lateness.host.empty()) line += fmt::format(", all ranks of host {}", lateness.host);
  if (lateness.by_turns) line += ", by turns";
  if (lateness.of_means) {
    return line + fmt::format(": last in the mean of {}, which hides how often",
                              counted(lateness.operations, "operation"));
  }
  if (lateness.sporadic()) line += ", now and then";
  return line + fmt::format(": last in {} of {} operations", lateness.blamed, lateness.operations);
}

JobHealth health_of(const NetworkVerdict& network) {
  if (network.state == NetworkState::unknown) return JobHealth::unknown;
  return network.state == NetworkState::healthy ? JobHealth::good : JobHealth::bad;
}

/// Waiting for all by turns is no late rank, and not well either.
JobHealth health_of(const Lateness& lateness) {
  if (!lateness.unknown.empty() || lateness.spread) return JobHealth::unknown;
  return lateness.late.empty() ? JobHealth::good : JobHealth::bad;
}

std::string standstill_line(const Standstill& still) {
  if (still.sequence) {
    return fmt::format("stands still: collective {} of '{}', {}{}", *still.sequence,
                       still.communicator, standstill_words(still),
                       still.may_go_on ? ", if the job did not go on where its log ends" : "");
  }
  if (!still.transfers.empty()) return "stands still: " + transfer_words(still);
  if (!still.called_others.empty()) {
    return fmt::format("ranks call different collectives: {}",
                       fmt::join(still.called_others, "; "));
  }
  if (still.behind.empty()) return {};
  return fmt::format("behind: rank {}, by {}", fmt::join(still.behind, ", "),
                     counted(still.behind_by, "operation"));
}

std::vector<std::string> program_lines(const JobLog& job) {
  std::vector<std::string> lines;
  constexpr std::size_t most_lines = 8;
  for (const LoggedProgram& program : job.programs) {
    if (lines.size() == most_lines) {
      lines.push_back(fmt::format("... and {} more ranks", job.programs.size() - most_lines));
      break;
    }
    std::string line =
        fmt::format("rank {}: {}, ", program.rank, counted(program.operations, "operation"));
    line += program.compute_nodes < 0 ? "which of them compute is not said"
                                      : fmt::format("{} of them computing", program.compute_nodes);
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

bool says_elements(const JobReport& report) {
  return std::any_of(report.verdict.sizes.begin(), report.verdict.sizes.end(),
                     [](const SizeFigures& row) { return row.elements != 0; });
}

Cells job_heading(const JobReport& report) {
  Cells cells{"collective",      "bytes", "count",    "transfer us",
              "with waiting us", "GB/s",  "algorithm"};
  if (says_elements(report)) cells.emplace_back("elements");
  if (!report.choices.empty()) {
    cells.insert(cells.end(), {"predicted us", "best choice", "regret"});
  }
  return cells;
}

Cells job_row(const JobReport& report, std::size_t i) {
  const SizeFigures& row = report.verdict.sizes[i];
  std::string algorithm = report.job.words[row.algorithm];
  if (row.protocol != 0) algorithm += ", " + report.job.words[row.protocol];
  Cells cells{std::string(to_string(row.kind)),   row.bytes > 0 ? to_string(Bytes{row.bytes}) : "-",
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

std::string communicator_heading(const JobCommunicator& one) {
  std::string line = one.name.empty() || one.name == one.id
                         ? fmt::format("communicator {}", one.id)
                         : fmt::format("communicator '{}' ({})", one.name, one.id);
  line += one.ranks > 0 ? fmt::format(", {} ranks", one.ranks) : ", ranks not said";
  if (one.nodes > 0) line += fmt::format(" on {}", counted(one.nodes, "host"));
  return line;
}

}  // namespace

std::string number_cell(double value) { return std::isfinite(value) ? significant(value) : "-"; }

std::string job_source_line(const JobReport& report) {
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
  const bool is_silent = job.records.empty() && job.programs.empty() && job.issued.empty() &&
                         job.hosts.empty() && !report.verdict.standstill.sequence;
  if (is_silent) line += ", no collective that has a time or a size";
  return line;
}

std::vector<JobAnswer> job_answers(const JobReport& report) {
  std::vector<JobAnswer> lines;
  const JobVerdict& verdict = report.verdict;
  if (!report.job.records.empty()) {
    lines.push_back({network_line(verdict.network), health_of(verdict.network)});
    lines.push_back({late_line(verdict), health_of(verdict.lateness)});
  }
  const std::string still = standstill_line(verdict.standstill);
  if (!still.empty()) {
    const Standstill& found = verdict.standstill;
    const bool may_go_on = !found.sequence && found.transfers.empty() &&
                           found.called_others.empty() && found.may_be_on_its_way();
    lines.push_back({still, may_go_on ? JobHealth::unknown : JobHealth::bad});
  }
  for (std::string& line : program_lines(report.job)) {
    lines.push_back({std::move(line), JobHealth::plain});
  }
  const double exposed = verdict.duration_us.empty() ? unknown_time : verdict.duration_us.front();
  if (!std::isfinite(exposed)) return lines;
  std::string spent = fmt::format("rank 0 spent {} in {}", time_text(Seconds{exposed * 1e-6}),
                                  counted(verdict.operations_of_rank0, to_string(verdict.kind)));
  if (std::isfinite(verdict.transfer_us_of_rank0)) {
    spent += fmt::format(", {} of it transferring: {:.0f} % is waiting",
                         time_text(Seconds{verdict.transfer_us_of_rank0 * 1e-6}),
                         100 * (1 - verdict.transfer_us_of_rank0 / exposed));
  } else {
    const auto timed = std::count_if(verdict.duration_us.begin(), verdict.duration_us.end(),
                                     [](double us) { return std::isfinite(us); });
    spent += fmt::format("; how much of it is waiting cannot be told from {}",
                         timed > 1 ? "what differs between ranks" : "one rank's durations");
  }
  lines.push_back({std::move(spent), JobHealth::plain});
  return lines;
}

std::string job_exposure_line(const JobVerdict& verdict) {
  for (std::size_t rank = 0; rank < verdict.exposures.size(); ++rank) {
    const Exposure& one = verdict.exposures[rank];
    if (!(one.communication_us > 0)) continue;
    return fmt::format("rank {}: {} of {} of communication have no computing beside them", rank,
                       time_text(Seconds{one.exposed_us * 1e-6}),
                       time_text(Seconds{one.communication_us * 1e-6}));
  }
  return {};
}

std::vector<JobTable> job_tables(const JobReport& report) {
  std::vector<JobTable> tables;
  for (std::size_t c = 0; c < report.job.communicators.size(); ++c) {
    JobTable table{communicator_heading(report.job.communicators[c]), {job_heading(report)}};
    for (std::size_t i = 0; i < report.verdict.sizes.size(); ++i) {
      if (report.verdict.sizes[i].communicator != static_cast<int>(c)) continue;
      table.rows.push_back(job_row(report, i));
    }
    if (table.rows.size() > 1) tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<std::string> job_remarks(const JobLog& job) {
  std::vector<std::string> lines;
  for (const auto& [what, count] : job.left_out) {
    lines.push_back(fmt::format("left out: {} x {}", count, what));
  }
  lines.insert(lines.end(), job.notes.begin(), job.notes.end());
  return lines;
}

std::string job_wait_line(const JobVerdict& verdict) {
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

}  // namespace collbench

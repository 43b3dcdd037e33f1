#include "bench/logs/job_verdict.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/logs/operations.h"
#include "core/quantile.h"

namespace collbench {
namespace {

double mean_duration(const JobOperation& operation) {
  double sum = 0;
  int timed = 0;
  for (const LogRecord& record : operation.records) {
    if (!(record.duration_us > 0)) continue;
    sum += record.duration_us;
    ++timed;
  }
  return timed > 0 ? sum / timed : unknown_time;
}

/// One duration alone holds the waiting for others and the transfer, nobody knows in which parts.
/// Of an all-to-all whose parts differ each rank has another transfer.
bool tells_transfer(const JobOperation& operation) {
  if (operation.any().kind == LoggedKind::all_to_all && !have_equal_parts(operation.records)) {
    return false;
  }
  return std::count_if(operation.records.begin(), operation.records.end(),
                       [](const LogRecord& record) { return record.duration_us > 0; }) > 1;
}

/// Rank 0 alone says what it chose in some formats.
template <typename Member>
std::uint8_t said_word(const JobOperation& operation, Member member) {
  for (const LogRecord& record : operation.records) {
    if (record.*member != 0) return record.*member;
  }
  return 0;
}

std::vector<SizeFigures> figures_by_size(const JobLog& job,
                                         const std::vector<JobOperation>& operations) {
  struct Sums {
    std::int64_t operations = 0, timed = 0, split = 0;
    double transfer = 0, duration = 0;
  };
  using Key = std::tuple<int, LoggedKind, std::int64_t, std::uint8_t, std::uint8_t, std::uint8_t>;
  std::map<Key, Sums> sums;
  for (const JobOperation& operation : operations) {
    const LogRecord& any = operation.any();
    Sums& sum = sums[{
        any.communicator, any.kind, any.bytes, said_word(operation, &LogRecord::algorithm),
        said_word(operation, &LogRecord::protocol), said_word(operation, &LogRecord::elements)}];
    sum.operations += operation.weight();
    if (operation.last < 0) continue;
    const auto weight = static_cast<double>(operation.weight());
    const double duration = mean_duration(operation);
    sum.timed += operation.weight();
    if (tells_transfer(operation)) {
      sum.split += operation.weight();
      // Others may have left long before the last to arrive.
      sum.transfer += weight * std::min(operation.transfer_us, duration);
    }
    sum.duration += weight * duration;
  }
  std::vector<SizeFigures> rows;
  for (const auto& [key, sum] : sums) {
    SizeFigures& row = rows.emplace_back();
    std::tie(row.communicator, row.kind, row.bytes, row.algorithm, row.protocol, row.elements) =
        key;
    row.operations = sum.operations;
    if (sum.timed == 0) continue;
    const int ranks = job.communicators[static_cast<std::size_t>(row.communicator)].ranks;
    row.duration_us = sum.duration / static_cast<double>(sum.timed);
    if (sum.split == 0) continue;
    row.transfer_us = sum.transfer / static_cast<double>(sum.split);
    if (ranks < 2 || !has_bus_rate(row.kind)) continue;
    row.bus_gbs =
        bus_factor(row.kind, ranks) * static_cast<double>(row.bytes) / row.transfer_us * 1e-3;
  }
  return rows;
}

LoggedKind main_kind(const std::vector<JobOperation>& operations) {
  std::map<LoggedKind, std::int64_t> counts;
  for (const JobOperation& operation : operations) counts[operation.any().kind] += 1;
  if (counts.empty() || counts.contains(LoggedKind::all_reduce)) {
    return LoggedKind::all_reduce;
  }
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::string_view format_of(const JobLog& job, const JobOperation& operation) {
  return job.communicators[static_cast<std::size_t>(operation.any().communicator)].format;
}

void sum_up(const JobLog& job, const std::vector<JobOperation>& operations,
            const DoubledLogs& doubled, const JobRanks& ranks, JobVerdict& verdict) {
  const auto count = static_cast<std::size_t>(std::max(ranks.count(), 0));
  std::vector<double> waits(count, 0);
  std::vector<std::int64_t> waited(count, 0);
  verdict.duration_us.assign(count, unknown_time);
  double bytes = 0;
  const auto add = [](double& sum, double value) { sum = std::isnan(sum) ? value : sum + value; };
  for (const JobOperation& operation : operations) {
    if (operation.any().kind != verdict.kind) continue;
    const auto weight = static_cast<double>(operation.weight());
    const std::string_view format = format_of(job, operation);
    if (!doubled.counts.contains(format)) {
      verdict.operations += operation.weight();
      bytes += weight * static_cast<double>(operation.any().bytes);
    }
    if (operation.last < 0 || doubled.times.contains(format)) continue;
    const bool split = tells_transfer(operation);
    for (const LogRecord& record : operation.records) {
      const auto rank = static_cast<std::size_t>(ranks.in_job(record));
      if (!(record.duration_us > 0) || rank >= count) continue;
      add(verdict.duration_us[rank], weight * record.duration_us);
      if (rank == 0) {
        verdict.operations_of_rank0 += operation.weight();
        // It may have left long before the last to arrive.
        const double transfer = std::min(operation.transfer_us, record.duration_us);
        if (split) add(verdict.transfer_us_of_rank0, weight * transfer);
      }
      if (!operation.timed_by_all || !split) continue;
      waits[rank] += weight * (operation.waiting_us(record));
      waited[rank] += operation.weight();
    }
  }
  constexpr double most_bytes = 1LL << 62;
  verdict.bytes = static_cast<std::int64_t>(std::min(bytes, most_bytes));
  for (std::size_t r = 0; r < count; ++r) {
    verdict.mean_wait_us.push_back(waited[r] > 0 ? waits[r] / static_cast<double>(waited[r])
                                                 : unknown_time);
  }
}

/// Medians of (end of r - end of the first rank): ends are common to all ranks, starts are not.
std::vector<double> clock_offsets(const JobLog& job, const std::vector<JobOperation>& operations,
                                  const JobRanks& ranks) {
  std::map<int, std::vector<double>> differences;
  int reference = -1;
  for (const JobOperation& operation : operations) {
    if (!has_bus_rate(operation.any().kind)) continue;
    const auto end = [](const LogRecord& record) { return record.start_us + record.duration_us; };
    const LogRecord& first = operation.any();
    if (job.communicators[static_cast<std::size_t>(first.communicator)].is_regular) continue;
    const int first_rank = ranks.in_job(first);
    if (reference < 0) reference = first_rank;
    if (first_rank != reference || std::isnan(end(first))) continue;
    for (const LogRecord& record : operation.records) {
      const double difference = end(record) - end(first);
      if (!std::isnan(difference)) differences[ranks.in_job(record)].push_back(difference);
    }
  }
  std::vector<double> offsets;
  if (differences.size() < 2) return offsets;
  offsets.assign(static_cast<std::size_t>(std::max(ranks.count(), 0)), unknown_time);
  for (auto& [rank, values] : differences) {
    if (static_cast<std::size_t>(rank) >= offsets.size()) continue;
    offsets[static_cast<std::size_t>(rank)] = quantile(std::move(values), 0.5);
  }
  return offsets;
}

void note_gaps(JobLog& job, const std::vector<JobOperation>& operations) {
  for (const JobOperation& operation : operations) {
    const bool timed = std::any_of(operation.records.begin(), operation.records.end(),
                                   [](const LogRecord& record) { return record.duration_us > 0; });
    if (timed && !operation.timed_by_all) {
      ++job.left_out
            ["operations of which not all ranks have a duration (a wrapped ring buffer, "
             "lost or cut records), from the comparison of ranks"];
    }
  }
}

void note_unfinished(JobLog& job) {
  constexpr std::size_t most_named = 8;
  if (job.unfinished.empty()) return;
  std::vector<int> named(job.unfinished.begin(), job.unfinished.end());
  const std::size_t others = named.size() - std::min(named.size(), most_named);
  named.resize(named.size() - others);
  job.note_once(fmt::format("did not reach MPI_Finalize: rank {}{}", fmt::join(named, ", "),
                            others > 0 ? fmt::format(" and {} more", others) : ""));
}

void note_shares(JobLog& job, const JobVerdict& verdict) {
  const bool has_shares = std::ranges::any_of(verdict.sizes, [](const SizeFigures& row) {
    return row.bytes > 0 &&
           (row.kind == LoggedKind::all_gather || row.kind == LoggedKind::reduce_scatter);
  });
  if (!has_shares) return;
  job.note_once(
      "bytes of all-gathers and reduce-scatters are one rank's share, as logs count them");
}

}  // namespace

std::optional<int> JobVerdict::late() const {
  if (lateness.late.size() != 1) return std::nullopt;
  return lateness.late.front();
}

bool JobVerdict::is_healthy() const {
  return std::none_of(causes.begin(), causes.end(),
                      [](const FoundCause& found) { return found.cause->fault; });
}

JobVerdict judge_job(JobLog& job, const NetworkExpectation& expectation) {
  const std::vector<JobOperation> operations = operations_of(job);
  const JobRanks ranks(job);
  note_gaps(job, operations);
  note_unfinished(job);
  JobVerdict verdict;
  verdict.counted_ranks = ranks.counted();
  if (!verdict.counted_ranks.empty()) {
    job.note_once(fmt::format(
        "no communicator here has all processes, which would say their ranks in the job: they are "
        "counted in the order of the logs, from {} ({}) to {} ({})",
        ranks.counted().begin()->first, ranks.counted().begin()->second,
        ranks.counted().rbegin()->first, ranks.counted().rbegin()->second));
  }
  verdict.kind = main_kind(operations);
  verdict.sizes = figures_by_size(job, operations);
  note_shares(job, verdict);
  const DoubledLogs doubled = doubled_logs(job, operations);
  sum_up(job, operations, doubled, ranks, verdict);
  verdict.clock_offset_us = clock_offsets(job, operations, ranks);
  verdict.exposures = exposures_of(job, ranks.count());
  std::vector<NetworkVerdict> networks;
  std::span<const JobOperation> rest = operations;  // in the order of communicators
  for (int c = 0; c < std::ssize(job.communicators); ++c) {
    const auto other = std::find_if(rest.begin(), rest.end(), [c](const JobOperation& each) {
      return each.any().communicator != c;
    });
    const auto own = rest.first(static_cast<std::size_t>(other - rest.begin()));
    rest = rest.subspan(own.size());
    networks.push_back(network_of(job, own, ranks, c, expectation));
  }
  verdict.network = worst_of(networks);
  std::vector<JobOperation> counted = operations;
  std::erase_if(counted, [&](const JobOperation& operation) {
    return doubled.times.contains(format_of(job, operation));
  });
  verdict.lateness = lateness_of(job, counted, ranks, verdict.network);
  if (!verdict.lateness.slow_start.empty()) job.note_once(verdict.lateness.slow_start);
  if (!job.mixed.empty()) {
    verdict.network = NetworkVerdict{};
    verdict.lateness = Lateness{};
    verdict.network.unknown = verdict.lateness.unknown = job.mixed;
  }
  verdict.standstill = standstill_of(job, ranks);
  find_causes(job, ranks, verdict);
  return verdict;
}

}  // namespace collbench

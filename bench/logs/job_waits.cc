#include "bench/logs/job_waits.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "bench/reports/text.h"
#include "core/quantile.h"

namespace collbench {
namespace {

constexpr double noticeable_us = 30;
constexpr double noticeable_share = 0.15;
// How many usual waits one operation may count for: 20 s of start-up are no thousand late steps.
constexpr double most_usual_waits = 10;
// Of the noticeable ones: of what is in a quarter of them all counts.
constexpr double usual_part = 0.75;
constexpr std::size_t fewest_with_start = 4;

double longest_wait_us(const JobOperation& operation) {
  double most = 0;
  for (const LogRecord& record : operation.records) {
    if (record.duration_us > 0) most = std::max(most, operation.waiting_us(record));
  }
  return most;
}

}  // namespace

bool is_noticeable(double waiting_us, const JobOperation& operation) {
  return waiting_us >= std::max(noticeable_us, noticeable_share * operation.transfer_us);
}

bool is_compared(const JobOperation& operation) {
  const LoggedKind kind = operation.any().kind;
  return operation.timed_by_all && waits_for_all(kind) && operation.records.size() > 1 &&
         (has_bus_rate(kind) || have_equal_parts(operation.records));
}

std::size_t end_of_run(const std::vector<JobOperation>& operations, std::size_t begin) {
  const LogRecord& any = operations[begin].any();
  while (++begin < operations.size()) {
    const LogRecord& next = operations[begin].any();
    if (next.communicator != any.communicator || next.kind != any.kind) break;
  }
  return begin;
}

double longest_blamed_us(const JobOperation& operation) {
  double most = 0;
  for (const LogRecord& record : operation.records) {
    if (record.duration_us > 0) most = std::max(most, operation.blamed_us(record));
  }
  return most;
}

JobWaits waits_of_job(const JobLog& log, const std::vector<JobOperation>& operations,
                      const JobRanks& ranks, const NetworkVerdict& network) {
  JobWaits job{log, operations, ranks, network, 0, {}};
  std::vector<double> noticeable;
  for (const JobOperation& operation : operations) {
    if (!is_compared(operation)) continue;
    const double longest = longest_blamed_us(operation);
    if (is_noticeable(longest, operation)) noticeable.push_back(longest);
  }
  job.bound_us = noticeable.empty()
                     ? std::numeric_limits<double>::infinity()
                     : most_usual_waits * quantile(std::move(noticeable), usual_part);
  for (const JobOperation& operation : operations) {
    if (!is_compared(operation)) continue;
    const double part =
        static_cast<double>(operation.weight()) * job.part_of(longest_blamed_us(operation));
    for (const LogRecord& record : operation.records) {
      if (!(record.duration_us > 0)) continue;
      job.waits_us[ranks.in_job(record)] += part * operation.waiting_us(record);
    }
  }
  return job;
}

std::vector<int> hardly_waiting(const std::vector<int>& group, const JobWaits& job) {
  double all = 0;
  for (const auto& [rank, us] : job.waits_us) all += us;
  const auto others = static_cast<double>(job.waits_us.size()) - 1;
  std::vector<int> kept;
  for (const int rank : group) {
    const auto found = job.waits_us.find(rank);  // none where its log was cut
    const double own = found == job.waits_us.end() ? 0 : found->second;
    if (own < hardly_waiting_share * (all - own) / others) kept.push_back(rank);
  }
  return kept;
}

std::map<int, Waits> waits_for(const std::vector<int>& group,
                               const std::vector<JobOperation>& operations, const JobRanks& ranks) {
  std::map<int, Waits> waits;
  for (const JobOperation& operation : operations) {
    if (!is_compared(operation)) continue;
    const int last = ranks.in_job(operation.any().communicator, operation.last);
    if (!std::binary_search(group.begin(), group.end(), last)) continue;
    double sum = 0;
    double most = 0;
    for (const LogRecord& record : operation.records) {
      if (!(record.duration_us > 0)) continue;  // of a log that was cut
      sum += operation.waiting_us(record);
      most = std::max(most, operation.waiting_us(record));
    }
    if (!is_noticeable(most, operation)) continue;
    for (const LogRecord& record : operation.records) {
      if (!(record.duration_us > 0)) continue;
      Waits& one = waits[ranks.in_job(record)];
      one.own_us += operation.waiting_us(record);
      one.usual_us += sum / static_cast<double>(operation.records.size() - 1);
      one.operations += operation.weight();
    }
  }
  return waits;
}

bool all_others_wait_alike(const std::vector<int>& group,
                           const std::vector<JobOperation>& operations, const JobRanks& ranks) {
  if (group.size() != 1) return false;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  const std::map<int, Waits> waits = waits_for(group, operations, ranks);
  for (const auto& [rank, one] : waits) {
    if (rank == group.front()) continue;
    const double mean = one.own_us / static_cast<double>(one.operations);
    least = std::min(least, mean);
    most = std::max(most, mean);
  }
  return waits.size() == 2 || (waits.size() >= 4 && least >= 0.8 * most);
}

std::vector<JobOperation> without_slow_starts(const JobLog& log,
                                              const std::vector<JobOperation>& operations,
                                              const JobRanks& ranks, std::string& slow_start) {
  std::vector<JobOperation> kept;
  double longest = 0;
  for (std::size_t begin = 0, end = 0; begin < operations.size(); begin = end) {
    end = end_of_run(operations, begin);
    const auto first =
        std::find_if(operations.begin() + static_cast<std::ptrdiff_t>(begin),
                     operations.begin() + static_cast<std::ptrdiff_t>(end), is_compared);
    const auto start = static_cast<std::size_t>(first - operations.begin());
    double others = noticeable_us;
    for (std::size_t i = start + 1; i < end; ++i) {
      if (is_compared(operations[i])) others = std::max(others, longest_wait_us(operations[i]));
    }
    const double us = start < end ? longest_wait_us(*first) : 0;
    const bool is_slow = end - begin >= fewest_with_start && us > most_usual_waits * others;
    for (std::size_t i = begin; i < end; ++i) {
      if (!is_slow || i != start) kept.push_back(operations[i]);
    }
    if (!is_slow || us <= longest) continue;
    longest = us;
    const LogRecord& any = first->any();
    slow_start = fmt::format(
        "{} came {} late to the first {} of '{}', more than ten times as late as any rank to the "
        "others: jobs begin so, and it is not compared",
        ranks.name(ranks.in_job(any.communicator, first->last)), time_text(Seconds{us * 1e-6}),
        to_string(any.kind), log.communicators[static_cast<std::size_t>(any.communicator)].name);
  }
  return kept;
}

}  // namespace collbench

#include "bench/logs/lateness_tally.h"

#include <algorithm>
#include <cmath>

namespace collbench {
namespace {

constexpr double group_share = 0.8;  // of all waiting
constexpr std::int64_t fewest_with_companions = 3;
// Deviations from chance in one question.
constexpr double sure_deviations = 2.5;

void count(const JobOperation& operation, const JobWaits& job, LatenessTally& tally) {
  double waiting = 0;
  for (const LogRecord& record : operation.records) {
    if (!(record.duration_us > 0)) continue;  // of a log that was cut
    waiting += operation.blamed_us(record);
    tally.any_waiting_us += static_cast<double>(operation.weight()) * operation.waiting_us(record);
    tally.by_rank[job.ranks.in_job(record)].present += operation.weight();
  }
  const auto weight = static_cast<double>(operation.weight());
  const double longest = longest_blamed_us(operation);
  const double bounded = job.part_of(longest) * waiting;
  const auto others = static_cast<double>(operation.records.size() - 1);
  tally.of_means = tally.of_means || operation.any().count != 1;
  tally.operations += operation.weight();
  tally.transfer_us += weight * operation.transfer_us;
  tally.blamed_waiting_us += weight * waiting;
  tally.waiting_us += weight * bounded;
  tally.waiting_squared += weight * bounded * bounded;
  tally.mean_waiting_us += weight * waiting / others;
  tally.bounded_waiting_us += weight * bounded / others;
  Blame& blame = tally.by_rank[job.ranks.in_job(operation.any().communicator, operation.last)];
  blame.waiting_us += weight * bounded;
  if (!is_noticeable(longest, operation)) return;
  tally.waited += operation.weight();
  blame.operations += operation.weight();
}

/// What the largest of several deviations has to exceed, by the logarithm of their number: m normal
/// deviations are all below sqrt(2 ln m).
double deviations_of_any(double log_of_number) {
  return std::sqrt(sure_deviations * sure_deviations + 2 * log_of_number);
}

}  // namespace

LatenessTally tally_of(const JobWaits& job, const std::vector<JobOperation>& operations) {
  LatenessTally tally;
  for (const JobOperation& operation : operations) {
    tally.timed = tally.timed || operation.last >= 0;
    if (!is_compared(operation)) continue;
    const int c = operation.any().communicator;
    const int members = job.log.communicators[static_cast<std::size_t>(c)].ranks;
    count(operation, job, tally);
    tally.members =
        std::max({tally.members, tally.by_rank.size(), static_cast<std::size_t>(members)});
  }
  return tally;
}

bool all_are_heard(const JobLog& job, const std::vector<JobOperation>& operations,
                   const JobRanks& ranks) {
  return std::all_of(operations.begin(), operations.end(), [&](const JobOperation& operation) {
    const int c = operation.any().communicator;
    const int members = job.communicators[static_cast<std::size_t>(c)].ranks;
    return !waits_for_all(operation.any().kind) || operation.transfer_us != operation.transfer_us ||
           (members > 0 && static_cast<int>(ranks.heard(c).size()) >= members);
  });
}

std::vector<int> blamed_most(const LatenessTally& tally) {
  std::vector<std::pair<double, int>> order;
  for (const auto& [rank, blame] : tally.by_rank) order.emplace_back(-blame.waiting_us, rank);
  std::sort(order.begin(), order.end());
  std::vector<int> group;
  double sum = 0;
  for (const auto& [waiting, rank] : order) {
    if (sum >= group_share * tally.waiting_us) break;
    group.push_back(rank);
    sum -= waiting;
  }
  std::sort(group.begin(), group.end());
  return group;
}

bool is_seldom_chance(const LatenessTally& tally, const std::vector<int>& group,
                      std::size_t questions) {
  const double deviations = deviations_of_any(std::log(static_cast<double>(questions)));
  double blamed = 0;
  for (const int rank : group) blamed += tally.by_rank.at(rank).waiting_us / tally.waiting_us;
  const double usual = static_cast<double>(group.size()) / static_cast<double>(tally.members);
  const double operations = tally.waiting_us * tally.waiting_us / tally.waiting_squared;
  return blamed - usual >= deviations * std::sqrt(usual * (1 - usual) / operations);
}

bool is_together(const std::vector<int>& group, const std::vector<JobOperation>& operations,
                 const JobRanks& ranks, std::size_t all) {
  if (group.size() == 1) return true;
  if (2 * group.size() > all) return false;
  double inside = 0;
  double outside = 0;
  for (const JobOperation& operation : operations) {
    if (!is_compared(operation)) continue;
    for (const LogRecord& record : operation.records) {
      if (!(record.duration_us > 0)) continue;
      const bool in = std::binary_search(group.begin(), group.end(), ranks.in_job(record));
      (in ? inside : outside) += operation.waiting_us(record);
    }
  }
  const auto size = static_cast<double>(group.size());
  return inside / size < hardly_waiting_share * outside / (static_cast<double>(all) - size);
}

std::vector<int> with_companions(const std::vector<int>& group,
                                 const std::vector<JobOperation>& operations, const JobRanks& ranks,
                                 std::size_t all) {
  std::vector<int> all_late = group;
  for (const auto& [rank, one] : waits_for(group, operations, ranks)) {
    const bool is_late = one.operations >= fewest_with_companions &&
                         one.own_us < hardly_waiting_share * one.usual_us;
    if (is_late && !std::binary_search(group.begin(), group.end(), rank)) all_late.push_back(rank);
  }
  std::sort(all_late.begin(), all_late.end());
  return 2 * all_late.size() <= all ? all_late : group;
}

}  // namespace collbench

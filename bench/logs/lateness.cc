#include "bench/logs/lateness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/logs/job_waits.h"

namespace collbench {
namespace {

constexpr double least_waiting_share = 0.1;
constexpr double group_share = 0.8;  // of all waiting
constexpr std::int64_t fewest_operations = 3;
// A slow link alone makes half of it.
constexpr double slow_link_share = 0.6;
// Deviations from chance in one question.
constexpr double sure_deviations = 2.5;

struct Blame {
  double waiting_us = 0;  // of all other ranks, bounded
  std::int64_t operations = 0;
  std::int64_t present = 0;  // operations that the rank has a duration of
};

struct Tally {
  std::map<int, Blame> by_rank;   // of the job
  double blamed_waiting_us = 0;   // of all others, summed, that their last rank is to blame for
  double any_waiting_us = 0;      // with what it is not
  double waiting_us = 0;          // what it is to blame for, bounded for each operation
  double waiting_squared = 0;     // of one operation, summed
  double mean_waiting_us = 0;     // mean over the others, summed over operations
  double bounded_waiting_us = 0;  // likewise, without what one operation has beyond its bound
  double transfer_us = 0;
  std::int64_t operations = 0;
  std::int64_t waited = 0;
  std::size_t ranks = 0;    // most that one operation has
  std::size_t members = 0;  // with those whose logs are missing
  bool timed = false;       // there are durations
  bool of_means = false;
};

void count(const JobOperation& operation, const JobWaits& job, Tally& tally) {
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
  tally.of_means = tally.of_means || operation.weight() > 1;
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

/// Whether records of all ranks are there: none that is missing can be the late one.
bool all_are_heard(const JobLog& job, const std::vector<JobOperation>& operations,
                   const JobRanks& ranks) {
  return std::all_of(operations.begin(), operations.end(), [&](const JobOperation& operation) {
    const int c = operation.any().communicator;
    const int members = job.communicators[static_cast<std::size_t>(c)].ranks;
    return !waits_for_all(operation.any().kind) || operation.transfer_us != operation.transfer_us ||
           (members > 0 && static_cast<int>(ranks.heard(c).size()) >= members);
  });
}

/// The ranks with most of the blame until they have `group_share` of it.
std::vector<int> blamed_most(const Tally& tally) {
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

/// Whether so much of the blame would seldom fall on `group` of all members by chance: if each
/// operation had any of them last. A few long waits count as few operations.
bool is_seldom_chance(const Tally& tally, const std::vector<int>& group, double deviations) {
  double blamed = 0;
  for (const int rank : group) blamed += tally.by_rank.at(rank).waiting_us / tally.waiting_us;
  const double usual = static_cast<double>(group.size()) / static_cast<double>(tally.members);
  const double operations = tally.waiting_us * tally.waiting_us / tally.waiting_squared;
  return blamed - usual >= deviations * std::sqrt(usual * (1 - usual) / operations);
}

/// What the largest of several deviations has to exceed, by the logarithm of their number: m normal
/// deviations are all below sqrt(2 ln m).
double deviations_of_any(double log_of_number) {
  return std::sqrt(sure_deviations * sure_deviations + 2 * log_of_number);
}

/// Two ranks of eight that are last by turns are late together; two of three are chance. One that
/// is last by turns with others waits itself then, and is not late together with them.
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

/// Two of eight may share the blame without coming together. There are as many groups of that size
/// as ways to choose it, of which the one with most of the blame was taken.
bool is_by_turns(const Tally& tally, const std::vector<int>& group) {
  if (4 * group.size() > tally.ranks) return false;
  double log_of_ways = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    log_of_ways += std::log(static_cast<double>(tally.members - i) / static_cast<double>(i + 1));
  }
  return is_seldom_chance(tally, group, deviations_of_any(log_of_ways));
}

/// `group` and the ranks that come as late: where it holds others up they hardly wait.
std::vector<int> with_companions(const std::vector<int>& group,
                                 const std::vector<JobOperation>& operations, const JobRanks& ranks,
                                 std::size_t all) {
  std::vector<int> all_late = group;
  for (const auto& [rank, one] : waits_for(group, operations, ranks)) {
    const bool is_late =
        one.operations >= fewest_operations && one.own_us < hardly_waiting_share * one.usual_us;
    if (is_late && !std::binary_search(group.begin(), group.end(), rank)) all_late.push_back(rank);
  }
  std::sort(all_late.begin(), all_late.end());
  return 2 * all_late.size() <= all ? all_late : group;
}

std::string too_few(const Lateness& found, const std::vector<int>& group) {
  return fmt::format(
      "only {} of {} operations have noticeable waiting, which is too few to tell a late rank from "
      "chance (last in most of it: rank {})",
      found.waited, found.operations, fmt::join(group, ", "));
}

Tally tally_of(const JobWaits& job, const std::vector<JobOperation>& operations) {
  Tally tally;
  for (const JobOperation& operation : operations) {
    if (!waits_for_all(operation.any().kind)) continue;
    tally.timed = tally.timed || operation.last >= 0;
    if (!is_compared(operation)) continue;
    const int c = operation.any().communicator;
    const int members = job.log.communicators[static_cast<std::size_t>(c)].ranks;
    tally.ranks = std::max(tally.ranks, operation.records.size());
    tally.members = std::max({tally.members, tally.ranks, static_cast<std::size_t>(members)});
    count(operation, job, tally);
  }
  return tally;
}

/// The ranks that have the blame; none, and `found.spread`, where no few have it.
std::vector<int> late_group(const JobWaits& job, const std::vector<JobOperation>& operations,
                            const Tally& tally, Lateness& found) {
  std::vector<int> group = blamed_most(tally);
  if (is_together(group, operations, job.ranks, tally.ranks)) {
    group = with_companions(group, operations, job.ranks, tally.ranks);
  } else if (is_by_turns(tally, group)) {
    found.by_turns = true;
  } else {
    found.spread = true;
    return {};
  }
  const std::vector<int> kept = hardly_waiting(group, job);
  if (kept.empty()) return group;
  found.by_turns = false;
  return kept;
}

/// Why `group` may not be late after all; empty: it is.
std::string doubt_of(const JobWaits& job, const std::vector<JobOperation>& operations,
                     const Tally& tally, const std::vector<int>& group, double deviations,
                     Lateness& found) {
  if (!is_seldom_chance(tally, group, deviations)) {
    return fmt::format(
        "most of the waiting is for rank {}, but in so few long waits that it may be chance",
        fmt::join(group, ", "));
  }
  if (job.may_have_slow_link() && tally.bounded_waiting_us < slow_link_share * tally.transfer_us &&
      !all_others_wait_alike(group, operations, job.ranks)) {
    found.may_be_slow_link = true;
    return fmt::format(
        "rank {} is last, but by {:.0f} % of the transfer only, as one slow link would make it "
        "seem",
        fmt::join(group, ", "), 100 * found.waiting_share);
  }
  if (!all_are_heard(job.log, operations, job.ranks) && !job.is_at_full_speed()) {
    return fmt::format(
        "rank {} is last of those whose logs are here, but one that is missing may be later",
        fmt::join(group, ", "));
  }
  if (found.blamed >= fewest_operations) return {};
  return fmt::format(
      "most of the waiting is for rank {}, in {} of {} operations: too few to tell it from chance",
      fmt::join(group, ", "), found.blamed, found.operations);
}

/// Of these operations together.
Lateness late_together(const JobWaits& job, const std::vector<JobOperation>& operations,
                       double deviations = sure_deviations) {
  Tally tally = tally_of(job, operations);
  Lateness found;
  found.operations = tally.operations;
  found.waited = tally.waited;
  found.of_means = tally.of_means;
  if (tally.operations == 0) {
    found.unknown = !tally.timed ? "there are no durations in it"
                                 : "there are no operations of which several ranks have a duration";
    return found;
  }
  found.waiting_share = tally.mean_waiting_us / tally.transfer_us;
  if (tally.any_waiting_us > tally.blamed_waiting_us) {
    found.held_up_share = 1 - tally.blamed_waiting_us / tally.any_waiting_us;
  }
  if (found.waiting_share < least_waiting_share) {
    if (!all_are_heard(job.log, operations, job.ranks)) {
      found.unknown =
          "no rank whose log is here waits for another of them; ranks whose logs are missing may";
    }
    return found;
  }
  if (tally.waited < fewest_operations) {
    found.unknown = too_few(found, blamed_most(tally));
    return found;
  }
  const std::vector<int> group = late_group(job, operations, tally, found);
  if (found.spread) return found;
  for (const int rank : group) {
    found.blamed += tally.by_rank[rank].operations;
    found.present = std::max(found.present, tally.by_rank[rank].present);
  }
  found.unknown = doubt_of(job, operations, tally, group, deviations, found);
  if (found.unknown.empty()) found.late = group;
  return found;
}

/// Where waiting goes round in all operations, but in those of no communicator; or where it is
/// little in all of them, and much in those of one.
void judge_apart(const JobWaits& job, Lateness& found) {
  std::map<int, std::vector<JobOperation>> apart;
  for (const JobOperation& operation : job.operations) {
    apart[operation.any().communicator].push_back(operation);
  }
  if (apart.size() < 2) return;
  // What all together do not show is looked for in each.
  const double deviations = found.spread
                                ? sure_deviations
                                : deviations_of_any(std::log(static_cast<double>(apart.size())));
  std::vector<Lateness> told;
  std::set<int> late;
  std::string doubt;
  for (const auto& [communicator, own] : apart) {
    const Lateness one = late_together(job, own, deviations);
    const bool is_told = !one.spread && one.unknown.empty();
    if (!is_told && found.spread) return;  // what goes round there may have come here
    if (one.may_be_slow_link && doubt.empty()) doubt = one.unknown;
    if (!is_told || one.late.empty()) continue;
    late.insert(one.late.begin(), one.late.end());
    told.push_back(one);
  }
  const std::vector<int> kept = hardly_waiting({late.begin(), late.end()}, job);
  if (kept.empty()) {
    found.unknown = doubt;
    return;
  }
  double share = 0;
  for (const Lateness& one : told) {
    const bool counts = std::find_first_of(one.late.begin(), one.late.end(), kept.begin(),
                                           kept.end()) != one.late.end();
    if (!counts) continue;
    found.blamed += one.blamed;
    found.present += one.present;
    share = std::max(share, one.waiting_share);
  }
  if (!found.spread) found.waiting_share = share;
  found.late = kept;
  found.spread = false;
}

}  // namespace

Lateness lateness_of(const JobLog& log, const std::vector<JobOperation>& operations,
                     const JobRanks& ranks, const NetworkVerdict& network) {
  std::string slow_start;
  const std::vector<JobOperation> compared =
      without_slow_starts(log, operations, ranks, slow_start);
  const JobWaits job = waits_of_job(log, compared, ranks, network);
  Lateness found = late_together(job, compared);
  const bool is_quiet = found.unknown.empty() && found.late.empty();
  if (is_quiet) judge_apart(job, found);
  if (found.late.size() > 1) found.host = ranks.host_of(found.late);
  found.slow_start = slow_start;
  return found;
}

}  // namespace collbench

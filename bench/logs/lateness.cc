#include "bench/logs/lateness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace collbench {
namespace {

constexpr double least_waiting_share = 0.1;
constexpr double group_share = 0.8;  // of all waiting
constexpr std::int64_t fewest_operations = 3;
// A slow link alone makes half of it.
constexpr double slow_link_share = 0.6;
// Ends of one operation differ between ranks by a few microseconds, small ones by a tenth.
constexpr double noticeable_us = 30;
constexpr double noticeable_share = 0.15;

struct Blame {
  double waiting_us = 0;  // of all other ranks
  std::int64_t operations = 0;
  std::int64_t present = 0;  // operations that the rank has a duration of
};

struct Tally {
  std::map<int, Blame> by_rank;  // of the job
  double waiting_us = 0;         // of all others, summed, that their last rank is to blame for
  double any_waiting_us = 0;     // with what it is not
  double waiting_squared = 0;    // of one operation, summed
  double mean_waiting_us = 0;    // mean over the others, summed over operations
  double transfer_us = 0;
  std::int64_t operations = 0;
  std::int64_t waited = 0;
  std::size_t ranks = 0;    // most that one operation has
  std::size_t members = 0;  // with those whose logs are missing
  bool timed = false;       // there are durations
  bool of_means = false;
};

bool is_noticeable(double waiting_us, const JobOperation& operation) {
  return waiting_us >= std::max(noticeable_us, noticeable_share * operation.transfer_us);
}

void count(const JobOperation& operation, const JobRanks& ranks, Tally& tally) {
  double waiting = 0;
  double most = 0;
  for (const LogRecord& record : operation.records) {
    if (!(record.duration_us > 0)) continue;  // of a log that was cut
    const double wait = operation.blamed_us(record);
    waiting += wait;
    tally.any_waiting_us += static_cast<double>(operation.weight()) * operation.waiting_us(record);
    most = std::max(most, wait);
    tally.by_rank[ranks.in_job(record)].present += operation.weight();
  }
  const auto weight = static_cast<double>(operation.weight());
  tally.of_means = tally.of_means || operation.weight() > 1;
  tally.operations += operation.weight();
  tally.transfer_us += weight * operation.transfer_us;
  tally.waiting_us += weight * waiting;
  tally.waiting_squared += weight * waiting * waiting;
  tally.mean_waiting_us +=
      weight * waiting /
      static_cast<double>(std::max<std::size_t>(operation.records.size() - 1, 1));
  Blame& blame = tally.by_rank[ranks.in_job(operation.any().communicator, operation.last)];
  blame.waiting_us += weight * waiting;
  if (!is_noticeable(most, operation)) return;
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
bool is_seldom_chance(const Tally& tally, const std::vector<int>& group, double deviations = 2.5) {
  double blamed = 0;
  for (const int rank : group) blamed += tally.by_rank.at(rank).waiting_us / tally.waiting_us;
  const double usual = static_cast<double>(group.size()) / static_cast<double>(tally.members);
  const double operations = tally.waiting_us * tally.waiting_us / tally.waiting_squared;
  return blamed - usual >= deviations * std::sqrt(usual * (1 - usual) / operations);
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
    if (!operation.timed_by_all || !waits_for_all(operation.any().kind)) continue;
    for (const LogRecord& record : operation.records) {
      if (!(record.duration_us > 0)) continue;
      const bool in = std::binary_search(group.begin(), group.end(), ranks.in_job(record));
      (in ? inside : outside) += operation.waiting_us(record);
    }
  }
  const auto size = static_cast<double>(group.size());
  return inside / size < 0.2 * outside / (static_cast<double>(all) - size);
}

/// Two of eight may share the blame without coming together. There are as many groups of that size
/// as ways to choose it, of which the one with most of the blame was taken: m normal deviations are
/// all below sqrt(2 ln m).
bool is_by_turns(const Tally& tally, const std::vector<int>& group) {
  if (4 * group.size() > tally.ranks) return false;
  double log_of_ways = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    log_of_ways += std::log(static_cast<double>(tally.members - i) / static_cast<double>(i + 1));
  }
  return is_seldom_chance(tally, group, std::sqrt(2.5 * 2.5 + 2 * log_of_ways));
}

/// `group` and the ranks that come as late: where it holds others up they hardly wait.
std::vector<int> with_companions(const std::vector<int>& group,
                                 const std::vector<JobOperation>& operations, const JobRanks& ranks,
                                 std::size_t all) {
  struct Waits {
    double own_us = 0;
    double usual_us = 0;  // mean of the other ranks
    std::int64_t operations = 0;
  };
  std::map<int, Waits> waits;
  for (const JobOperation& operation : operations) {
    const bool compared = operation.timed_by_all && waits_for_all(operation.any().kind) &&
                          operation.records.size() > 1;
    if (!compared) continue;
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
  std::vector<int> all_late = group;
  for (const auto& [rank, one] : waits) {
    const bool is_late = one.operations >= fewest_operations && one.own_us < 0.2 * one.usual_us;
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

Tally tally_of(const JobLog& job, const std::vector<JobOperation>& operations,
               const JobRanks& ranks) {
  Tally tally;
  for (const JobOperation& operation : operations) {
    if (!waits_for_all(operation.any().kind)) continue;
    tally.timed = tally.timed || operation.last >= 0;
    if (!operation.timed_by_all || operation.records.size() < 2) continue;
    const int c = operation.any().communicator;
    const int members = job.communicators[static_cast<std::size_t>(c)].ranks;
    tally.ranks = std::max(tally.ranks, operation.records.size());
    tally.members = std::max({tally.members, tally.ranks, static_cast<std::size_t>(members)});
    count(operation, ranks, tally);
  }
  return tally;
}

/// Of all operations together.
Lateness late_together(const JobLog& job, const std::vector<JobOperation>& operations,
                       const JobRanks& ranks, bool at_full_speed) {
  Tally tally = tally_of(job, operations, ranks);
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
  if (tally.any_waiting_us > tally.waiting_us) {
    found.held_up_share = 1 - tally.waiting_us / tally.any_waiting_us;
  }
  const bool all_heard = all_are_heard(job, operations, ranks);
  if (found.waiting_share < least_waiting_share) {
    if (!all_heard) {
      found.unknown =
          "no rank whose log is here waits for another of them; ranks whose logs are missing may";
    }
    return found;
  }
  std::vector<int> group = blamed_most(tally);
  if (tally.waited < fewest_operations) {
    found.unknown = too_few(found, group);
    return found;
  }
  const bool may_be_chance = !is_seldom_chance(tally, group);
  if (is_together(group, operations, ranks, tally.ranks)) {
    group = with_companions(group, operations, ranks, tally.ranks);
  } else if (is_by_turns(tally, group)) {
    found.by_turns = true;
  } else {
    found.spread = true;
    return found;
  }
  for (const int rank : group) {
    found.blamed += tally.by_rank[rank].operations;
    found.present = std::max(found.present, tally.by_rank[rank].present);
  }
  if (may_be_chance) {
    found.unknown = fmt::format(
        "most of the waiting is for rank {}, but in so few long waits that it may be chance",
        fmt::join(group, ", "));
    return found;
  }
  if (!at_full_speed && found.waiting_share < slow_link_share) {
    found.unknown = fmt::format(
        "rank {} is last, but by {:.0f} % of the transfer only, as one slow link would make it "
        "seem",
        fmt::join(group, ", "), 100 * found.waiting_share);
    return found;
  }
  if (!all_heard && !at_full_speed) {
    found.unknown = fmt::format(
        "rank {} is last of those whose logs are here, but one that is missing may be later",
        fmt::join(group, ", "));
    return found;
  }
  if (found.blamed < fewest_operations) {
    found.unknown = too_few(found, group);
    return found;
  }
  found.late = group;
  return found;
}

/// Where waiting goes round in all operations, but in those of no communicator.
void judge_apart(const JobLog& job, const std::vector<JobOperation>& operations,
                 const JobRanks& ranks, bool at_full_speed, Lateness& found) {
  std::map<int, std::vector<JobOperation>> apart;
  for (const JobOperation& operation : operations) {
    apart[operation.any().communicator].push_back(operation);
  }
  if (apart.size() < 2) return;
  Lateness sum;
  std::set<int> late;
  for (const auto& [communicator, own] : apart) {
    const Lateness one = late_together(job, own, ranks, at_full_speed);
    if (one.spread || !one.unknown.empty()) return;  // what goes round there may have come here
    if (one.late.empty()) continue;
    late.insert(one.late.begin(), one.late.end());
    sum.blamed += one.blamed;
    sum.present += one.present;
  }
  if (late.empty()) return;
  found.late.assign(late.begin(), late.end());
  found.blamed = sum.blamed;
  found.present = sum.present;
  found.spread = false;
}

}  // namespace

Lateness lateness_of(const JobLog& job, const std::vector<JobOperation>& operations,
                     const JobRanks& ranks, bool at_full_speed) {
  Lateness found = late_together(job, operations, ranks, at_full_speed);
  if (found.spread) judge_apart(job, operations, ranks, at_full_speed, found);
  if (found.late.size() > 1) found.host = ranks.host_of(found.late);
  return found;
}

}  // namespace collbench

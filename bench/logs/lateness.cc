#include "bench/logs/lateness.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/logs/hidden_sends.h"
#include "bench/logs/job_waits.h"
#include "bench/logs/lateness_chance.h"
#include "bench/logs/lateness_tally.h"

namespace collbench {
namespace {

constexpr double least_waiting_share = 0.1;
constexpr std::int64_t fewest_operations = 3;
// A slow link alone makes half of it.
constexpr double slow_link_share = 0.6;
// Of the waiting for others that are late, below which a rank is not worth a name.
constexpr double least_named_share = 0.01;

/// Two of eight may share the blame without coming together.
bool is_by_turns(const LatenessTally& tally, const Visits& visits, const std::vector<int>& group) {
  return 4 * group.size() <= tally.by_rank.size() &&
         chance_of_visits(visits, group, tally.members) <= least_chance;
}

std::string too_few(const Lateness& found, const std::vector<int>& group) {
  return fmt::format(
      "only {} of {} operations have noticeable waiting, which is too few to tell a late rank from "
      "chance (last in most of it: rank {})",
      found.waited, found.operations, fmt::join(group, ", "));
}

std::string nothing_compared(const JobWaits& job, const std::vector<JobOperation>& operations,
                             const LatenessTally& tally) {
  for (std::size_t c = 0; c < job.log.communicators.size(); ++c) {
    if (is_several(job.log.communicators[c], job.ranks.heard(static_cast<int>(c)))) {
      return "several communicators are taken together in it, whose ranks cannot be compared";
    }
  }
  if (std::any_of(operations.begin(), operations.end(), [](const JobOperation& operation) {
        return operation.timed_by_all && operation.any().kind == LoggedKind::all_to_all &&
               !have_equal_parts(operation.records);
      })) {
    return "its all-to-alls have parts that differ, or may: whose parts are small is done first, "
           "and not late";
  }
  return tally.timed ? "there are no operations that wait for all and of which several ranks have "
                       "a duration"
                     : "there are no durations in it";
}

/// By how much ranks differ, in the mean, in calls that do not wait for all.
struct UncomparedWaits {
  double differing_us = 0;
  double least_us = 0;
  std::string kinds{};
};

UncomparedWaits uncompared_waits(const std::vector<JobOperation>& operations) {
  UncomparedWaits waits;
  std::set<LoggedKind> kinds;
  for (const JobOperation& operation : operations) {
    if (is_compared(operation) || !operation.timed_by_all || operation.records.size() < 2) continue;
    double sum = 0;
    for (const LogRecord& record : operation.records) {
      if (record.duration_us > 0) sum += record.duration_us - operation.transfer_us;
    }
    const auto weight = static_cast<double>(operation.weight());
    waits.differing_us += weight * sum / static_cast<double>(operation.records.size() - 1);
    waits.least_us += weight * operation.transfer_us;
    kinds.insert(operation.any().kind);
  }
  for (const LoggedKind kind : kinds) {
    waits.kinds += fmt::format("{}{}", waits.kinds.empty() ? "" : ", ", to_string(kind));
  }
  return waits;
}

/// Why there may be a late rank, although nobody waits where waiting can be seen; empty: there is
/// none.
std::string doubt_of_none(const JobWaits& job, const std::vector<JobOperation>& operations,
                          const LatenessTally& tally) {
  if (!all_are_heard(job.log, operations, job.ranks)) {
    return "no rank whose log is here waits for another of them; ranks whose logs are missing may";
  }
  if (tally.of_means) {
    return "its times are means, in which ranks that are late by turns do not show";
  }
  const UncomparedWaits others = uncompared_waits(operations);
  if (others.differing_us < least_waiting_share * (tally.transfer_us + others.least_us)) return {};
  return fmt::format(
      "ranks differ by {:.0f} % in calls that not every rank waits in for all others ({}): what "
      "they wait for there is not known",
      100 * others.differing_us / others.least_us, others.kinds);
}

/// The ranks that have the blame; none, and `found.spread`, where no few have it.
std::vector<int> late_group(const JobWaits& job, const std::vector<JobOperation>& operations,
                            const LatenessTally& tally, const Visits& visits, Lateness& found) {
  std::vector<int> group = blamed_most(tally);
  const std::size_t all = tally.by_rank.size();
  const bool together = is_together(group, operations, job.ranks, all);
  if (together) group = with_companions(group, operations, job.ranks, all);
  const std::vector<int> kept = hardly_waiting(group, job);
  if (!together && !is_by_turns(tally, visits, group) && (kept.empty() || 2 * kept.size() > all)) {
    found.spread = true;
    return {};
  }
  found.by_turns = !together && kept.empty();
  return kept.empty() ? group : kept;
}

/// Why `group` may not be late after all; empty: it is.
std::string doubt_of(const JobWaits& job, const std::vector<JobOperation>& operations,
                     const LatenessTally& tally, const Visits& visits,
                     const std::vector<int>& group, std::size_t questions, Lateness& found) {
  if (!is_seldom_chance(tally, group, questions)) {
    return fmt::format(
        "most of the waiting is for rank {}, but in so few long waits that it may be chance",
        fmt::join(group, ", "));
  }
  const auto each = static_cast<double>(questions);
  // Two of more ranks: there are no others to set them against, but at full speed one of them was
  // the last of all.
  const bool are_two_of_more =
      tally.by_rank.size() == 2 && tally.members > 2 && job.is_at_full_speed();
  if (!are_two_of_more && chance_of_visits(visits, group, tally.members) > least_chance / each &&
      chance_of_waits(job, operations, group) > least_chance_of_waits / each) {
    return fmt::format(
        "most of the waiting is for rank {}, but it comes late anew so seldom, and differs so "
        "little from the others, that it may be chance",
        fmt::join(group, ", "));
  }
  if (job.may_have_slow_link() && tally.bounded_waiting_us < slow_link_share * tally.transfer_us &&
      (job.network.state == NetworkState::slow ||
       !all_others_wait_alike(group, operations, job.ranks))) {
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

/// Of these operations together, one of as many `questions`.
Lateness late_together(const JobWaits& job, const std::vector<JobOperation>& operations,
                       std::size_t questions = 1) {
  LatenessTally tally = tally_of(job, operations);
  Lateness found;
  found.operations = tally.operations;
  found.waited = tally.waited;
  found.of_means = tally.of_means;
  if (tally.operations == 0) {
    found.unknown = nothing_compared(job, operations, tally);
    return found;
  }
  found.waiting_share = tally.mean_waiting_us / tally.transfer_us;
  if (tally.any_waiting_us > tally.blamed_waiting_us) {
    found.held_up_share = 1 - tally.blamed_waiting_us / tally.any_waiting_us;
  }
  if (found.waiting_share < least_waiting_share) {
    found.unknown = doubt_of_none(job, operations, tally);
    return found;
  }
  if (tally.waited < fewest_operations) {
    found.unknown = too_few(found, blamed_most(tally));
    return found;
  }
  const Visits visits = visits_of(job, operations);
  const std::vector<int> group = late_group(job, operations, tally, visits, found);
  if (found.spread) return found;
  for (const int rank : group) {
    found.blamed += tally.by_rank[rank].operations;
    found.present = std::max(found.present, tally.by_rank[rank].present);
  }
  found.unknown = doubt_of(job, operations, tally, visits, group, questions, found);
  if (found.unknown.empty()) found.late = group;
  return found;
}

/// What the last to arrive are to blame for, of the ranks that wait the longest.
double blamed_us(const std::vector<JobOperation>& operations) {
  double sum = 0;
  for (const JobOperation& operation : operations) {
    if (is_compared(operation)) {
      sum += static_cast<double>(operation.weight()) * longest_blamed_us(operation);
    }
  }
  return sum;
}

/// Where waiting goes round in all operations, but in those of no communicator; where it is little
/// in all of them, and much in those of one; or where a slow link might make it in all of them, and
/// not in each.
void judge_apart(const JobWaits& job, Lateness& found) {
  std::map<int, std::vector<JobOperation>> apart;
  for (const JobOperation& operation : job.operations) {
    apart[operation.any().communicator].push_back(operation);
  }
  if (apart.size() < 2) return;
  // What all together do not show is looked for in each.
  const std::size_t questions = found.spread ? 1 : apart.size();
  std::vector<Lateness> told;
  std::vector<double> blamed;
  double most_blamed = 0;
  std::set<int> late;
  std::string doubt;
  for (const auto& [communicator, own] : apart) {
    const Lateness one = late_together(job, own, questions);
    const bool is_told = !one.spread && one.unknown.empty();
    if (!is_told && found.spread) return;  // what goes round there may have come here
    if (one.may_be_slow_link && doubt.empty()) doubt = one.unknown;
    if (!is_told || one.late.empty()) continue;
    told.push_back(one);
    blamed.push_back(blamed_us(own));
    most_blamed = std::max(most_blamed, blamed.back());
  }
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (blamed[i] < least_named_share * most_blamed) told[i].late.clear();
    late.insert(told[i].late.begin(), told[i].late.end());
  }
  const std::vector<int> kept = hardly_waiting({late.begin(), late.end()}, job);
  if (kept.empty()) {
    if (found.unknown.empty()) found.unknown = doubt;
    return;
  }
  double share = 0;
  found.blamed = found.present = 0;
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
  found.spread = found.may_be_slow_link = false;
  found.unknown.clear();
}

/// What cannot be told of waiting that goes round: whether a rank that is last oftener than others
/// is late, or one that hardly waits.
void doubt_spread(const JobWaits& job, Lateness& found) {
  const LatenessTally tally = tally_of(job, job.operations);
  if (tally.of_means) {
    found.spread = false;
    found.unknown = "its times are means, in which ranks that are late by turns do not show";
    return;
  }
  const auto most = std::max_element(
      tally.by_rank.begin(), tally.by_rank.end(),
      [](const auto& a, const auto& b) { return a.second.waiting_us < b.second.waiting_us; });
  std::vector<int> all;
  for (const auto& [rank, blame] : tally.by_rank) all.push_back(rank);
  std::vector<int> suspects = hardly_waiting(all, job);
  if (2 * suspects.size() > all.size()) suspects.clear();
  const Visits visits = visits_of(job, job.operations);
  if (chance_of_visits(visits, {most->first}, tally.members) <= least_chance) {
    suspects = {most->first};
  }
  if (suspects.empty()) return;
  found.spread = false;
  found.unknown = fmt::format(
      "rank {} comes last oftener than others, or waits less, but much of the waiting is for other "
      "ranks",
      fmt::join(suspects, ", "));
}

/// Rare waits that are far longer than others are judged apart: all other operations together could
/// outweigh them.
void judge_long_waits(const JobWaits& job, Lateness& found) {
  const Visits long_waits = visits_of(job, job.operations, true);
  const bool has_any = std::any_of(long_waits.begin(), long_waits.end(),
                                   [](const auto& visits) { return !visits.second.empty(); });
  if (!has_any || found.waiting_share < least_waiting_share) return;
  std::vector<JobOperation> rest;
  std::vector<JobOperation> rare;
  for (const JobOperation& operation : job.operations) {
    const bool is_long = is_compared(operation) && longest_blamed_us(operation) > job.bound_us;
    (is_long ? rare : rest).push_back(operation);
  }
  LatenessTally tally = tally_of(job, job.operations);
  std::vector<int> late = late_in_long_waits(long_waits, tally.members);
  const std::vector<int> kept =
      hardly_waiting(late, waits_of_job(job.log, rare, job.ranks, job.network));
  const bool is_told = !late.empty() && (kept.empty() || kept == late) &&
                       (all_are_heard(job.log, rare, job.ranks) || job.is_at_full_speed());
  if (!is_told) {
    if (!found.late.empty()) return;
    std::vector<int> last;
    for (const auto& [rank, visits] : long_waits) {
      if (!visits.empty()) last.push_back(rank);
    }
    found.spread = false;
    found.unknown = fmt::format(
        "{} of {} operations wait far longer than all others, for rank {}: too few to tell a late "
        "rank from chance",
        rare.size(), found.operations, fmt::join(last, ", "));
    return;
  }
  Lateness usual = late_together(waits_of_job(job.log, rest, job.ranks, job.network), rest);
  if (blamed_us(rest) < least_named_share * blamed_us(rare)) usual.late.clear();
  found.by_turns = usual.by_turns || (!usual.late.empty() && usual.late != late);
  late.insert(late.end(), usual.late.begin(), usual.late.end());
  std::sort(late.begin(), late.end());
  late.erase(std::unique(late.begin(), late.end()), late.end());
  found.late = late;
  found.spread = false;
  found.unknown.clear();
  found.blamed = found.present = 0;
  for (const int rank : late) {
    found.blamed += tally.by_rank[rank].operations;
    found.present = std::max(found.present, tally.by_rank[rank].present);
  }
}

/// Where the log says how long ranks were at their own work, it does not for what was before the
/// first collective: nobody is known to be to blame there.
void leave_unknown_work_out(std::vector<JobOperation>& operations) {
  const auto has_own = [](const JobOperation& one) { return !std::isnan(one.last_own_us); };
  if (std::none_of(operations.begin(), operations.end(), has_own)) return;
  std::erase_if(operations, [&](const JobOperation& one) {
    return !std::isnan(one.last_start_us) && !has_own(one);
  });
}

}  // namespace

Lateness lateness_of(const JobLog& log, const std::vector<JobOperation>& operations,
                     const JobRanks& ranks, const NetworkVerdict& network) {
  std::string slow_start;
  std::vector<JobOperation> compared = without_slow_starts(log, operations, ranks, slow_start);
  leave_unknown_work_out(compared);
  const JobWaits job = waits_of_job(log, compared, ranks, network);
  Lateness found = late_together(job, compared);
  const bool is_open = found.late.empty() && (found.unknown.empty() || found.may_be_slow_link);
  if (is_open) judge_apart(job, found);
  judge_long_waits(job, found);
  if (found.spread) doubt_spread(job, found);
  if (std::string doubt = doubt_of_sends(job, found.late); !doubt.empty()) {
    found.unknown = std::move(doubt);
    found.late.clear();
  }
  if (found.late.size() > 1) found.host = ranks.host_of(found.late);
  found.slow_start = slow_start;
  return found;
}

}  // namespace collbench

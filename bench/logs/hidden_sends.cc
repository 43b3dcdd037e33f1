#include "bench/logs/hidden_sends.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace collbench {
namespace {

// Stages differ in what they compute, but not by much.
constexpr double evenness = 0.4;
constexpr std::size_t fewest_single_parts = 4;

bool has_own_work(const JobWaits& job) {
  return std::any_of(job.operations.begin(), job.operations.end(),
                     [](const JobOperation& one) { return !std::isnan(one.last_own_us); });
}

bool shows_sends(const JobWaits& job) {
  return job.log.has_sends ||
         std::any_of(job.operations.begin(), job.operations.end(), [](const JobOperation& one) {
           return one.any().kind == LoggedKind::point_to_point;
         });
}

/// Ranks of the job by communicator, in the order of their ranks there.
using Members = std::map<int, std::vector<int>>;

Members compared_members(const JobWaits& job) {
  Members members;
  for (const JobOperation& operation : job.operations) {
    if (!is_compared(operation)) continue;
    const auto [found, is_new] = members.try_emplace(operation.any().communicator);
    if (!is_new) continue;
    for (const LogRecord& record : operation.records) {
      found->second.push_back(job.ranks.in_job(record));
    }
  }
  return members;
}

/// By rank, the first rank of its part: those that communicators other than `left_out` join.
std::map<int, int> parts_of(const Members& members, int left_out) {
  std::map<int, int> parent;
  const auto first_of = [&](int rank) {
    while (parent.at(rank) != rank) rank = parent[rank] = parent.at(parent.at(rank));
    return rank;
  };
  for (const auto& [communicator, ranks] : members) {
    for (const int rank : ranks) parent.try_emplace(rank, rank);
    if (communicator == left_out) continue;
    for (const int rank : ranks) {
      const auto [least, most] = std::minmax({first_of(ranks.front()), first_of(rank)});
      parent[most] = least;
    }
  }
  std::map<int, int> parts;
  for (const auto& [rank, above] : parent) parts[rank] = first_of(rank);
  return parts;
}

/// Two of `late` in different parts that have the same rank in communicators of one size.
bool are_late_at_one_place(const Members& members, const std::vector<int>& late) {
  const std::map<int, int> parts = parts_of(members, -1);
  std::map<std::pair<std::size_t, std::size_t>, std::set<int>> parts_at;  // by size and rank
  for (const auto& [communicator, ranks] : members) {
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      if (!std::binary_search(late.begin(), late.end(), ranks[place])) continue;
      parts_at[{ranks.size(), place}].insert(parts.at(ranks[place]));
    }
  }
  return std::any_of(parts_at.begin(), parts_at.end(),
                     [](const auto& at) { return at.second.size() > 1; });
}

/// Of the ranks of one part, in one communicator.
struct PartWaits {
  double least_us = std::numeric_limits<double>::infinity();
  double most_us = 0;
  double sum_us = 0;
  std::vector<int> ranks{};
  double mean_us() const { return sum_us / static_cast<double>(ranks.size()); }
};

/// In the order of their first ranks; `any` becomes one of the operations.
std::vector<PartWaits> waits_of_parts(const JobWaits& job, int communicator,
                                      const std::map<int, int>& parts, const JobOperation*& any) {
  std::map<int, double> mean_us;
  double operations = 0;
  for (const JobOperation& operation : job.operations) {
    if (!is_compared(operation) || operation.any().communicator != communicator) continue;
    any = &operation;
    operations += 1;
    for (const LogRecord& record : operation.records) {
      mean_us[job.ranks.in_job(record)] += operation.waiting_us(record);
    }
  }
  std::map<int, PartWaits> waits;
  for (const auto& [rank, us] : mean_us) {
    PartWaits& part = waits[parts.at(rank)];
    part.least_us = std::min(part.least_us, us / operations);
    part.most_us = std::max(part.most_us, us / operations);
    part.sum_us += us / operations;
    part.ranks.push_back(rank);
  }
  std::vector<PartWaits> in_order;
  for (auto& [first, part] : waits) in_order.push_back(std::move(part));
  return in_order;
}

/// Whether all of one part come before all of the next, by about as much each time.
bool come_one_after_the_other(const std::vector<PartWaits>& parts, const JobOperation& any) {
  double least_step = std::numeric_limits<double>::infinity();
  double most_step = 0;
  double widest = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    widest = std::max(widest, parts[i].most_us - parts[i].least_us);
    if (i == 0) continue;
    const double step = parts[i].mean_us() - parts[i - 1].mean_us();
    least_step = std::min(least_step, step);
    most_step = std::max(most_step, step);
  }
  return is_noticeable(least_step, any) && least_step > 2 * widest &&
         least_step >= evenness * most_step;
}

/// What comes in steps to the largest communicator, one of `late` with the last; empty: nothing
/// does.
std::string parts_in_steps(const JobWaits& job, const Members& members,
                           const std::vector<int>& late) {
  if (members.empty()) return {};
  const int whole = std::max_element(members.begin(), members.end(), [](auto& a, auto& b) {
                      return a.second.size() < b.second.size();
                    })->first;
  const JobOperation* any = nullptr;
  std::vector<PartWaits> parts = waits_of_parts(job, whole, parts_of(members, whole), any);
  const bool are_ranks = parts.size() == members.at(whole).size();
  const bool are_halves = parts.size() == 2 && parts[0].ranks.size() == parts[1].ranks.size();
  const bool may_be_stages =
      are_ranks ? parts.size() >= fewest_single_parts : parts.size() > 2 || are_halves;
  if (!may_be_stages) return {};
  if (parts.front().mean_us() > parts.back().mean_us()) std::reverse(parts.begin(), parts.end());
  const std::vector<int>& last = parts.front().ranks;
  const bool has_late =
      std::find_first_of(late.begin(), late.end(), last.begin(), last.end()) != late.end();
  if (!has_late || !come_one_after_the_other(parts, *any)) return {};
  return fmt::format("the {} {} come one after the other to '{}', evenly", parts.size(),
                     are_ranks ? "ranks" : "groups of ranks that other communicators have",
                     job.log.communicators[static_cast<std::size_t>(whole)].name);
}

}  // namespace

std::string doubt_of_sends(const JobWaits& job, const std::vector<int>& late) {
  if (late.empty() || has_own_work(job)) return {};
  if (shows_sends(job)) {
    return fmt::format(
        "rank {} comes last, but ranks also wait for single others in sends and receives, which "
        "are not compared: the first stage of a pipeline ends a step last, and a late rank holds "
        "up those that it sends to",
        fmt::join(late, ", "));
  }
  const Members members = compared_members(job);
  if (are_late_at_one_place(members, late)) {
    return fmt::format(
        "rank {} comes last, in parts of the job that no communicator here joins, at one place in "
        "each: a late rank of a pipeline holds up those that it sends to, and sends are not in "
        "this log",
        fmt::join(late, ", "));
  }
  const std::string steps = parts_in_steps(job, members, late);
  if (steps.empty()) return {};
  return fmt::format(
      "rank {} comes last, but {}: so end the stages of a pipeline, whose sends are not in this "
      "log",
      fmt::join(late, ", "), steps);
}

}  // namespace collbench

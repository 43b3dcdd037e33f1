#include "bench/logs/lateness_chance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "bench/verdicts/statistics_changes.h"

namespace collbench {
namespace {

constexpr std::size_t fewest_visits = 3;
constexpr double visits_share = 0.8;
constexpr std::size_t quarters = 4;

/// A visit in one series, whose operations share its time evenly from 0 to 1.
struct LateStretch {
  double begin = 0;
  double end = 0;
  double peak_us = 0;  // how late the rank came at most
  double waiting_us = 0;
  bool is_long = false;
};

/// The visits of all ranks in one communicator and kind.
class SeriesVisits {
 public:
  SeriesVisits(const JobWaits& job, std::map<int, std::vector<LateStretch>>& ended)
      : job_(job), ended_(ended) {}

  void take(const JobOperation& operation, double begin, double end) {
    double most = 0;
    double blamed = 0;
    for (const LogRecord& record : operation.records) {
      if (!(record.duration_us > 0)) continue;
      most = std::max(most, operation.waiting_us(record));
      blamed += operation.blamed_us(record);
    }
    const double longest = longest_blamed_us(operation);
    const bool is_waited = is_noticeable(longest, operation);
    const int last = job_.ranks.in_job(operation.any().communicator, operation.last);
    for (const LogRecord& record : operation.records) {
      const auto open = open_.find(job_.ranks.in_job(record));
      if (open == open_.end() || !(record.duration_us > 0)) continue;
      if (is_waited && open->first == last) continue;  // still late, if by less than it was
      const double late_us = most - operation.waiting_us(record);
      if (late_us < hardly_waiting_share * open->second.peak_us) close(open);
    }
    if (!is_waited) return;
    LateStretch& stretch = open_.try_emplace(last, LateStretch{.begin = begin}).first->second;
    stretch.end = end;
    stretch.peak_us = std::max(stretch.peak_us, most);
    stretch.waiting_us += static_cast<double>(operation.weight()) * job_.part_of(longest) * blamed;
    stretch.is_long = stretch.is_long || longest > job_.bound_us;
  }

  void finish() {
    while (!open_.empty()) close(open_.begin());
  }

 private:
  void close(std::map<int, LateStretch>::iterator open) {
    ended_[open->first].push_back(open->second);
    open_.erase(open);
  }

  const JobWaits& job_;
  std::map<int, std::vector<LateStretch>>& ended_;
  std::map<int, LateStretch> open_;
};

/// The time of an operation in its series, by its place there.
template <typename Take>
void for_each_with_time(const std::vector<JobOperation>& operations, const Take& take) {
  for (std::size_t begin = 0, end = 0; begin < operations.size(); begin = end) {
    end = end_of_run(operations, begin);
    for (std::size_t i = begin; i < end; ++i) {
      const auto length = static_cast<double>(end - begin);
      if (!is_compared(operations[i])) continue;
      take(operations[i], static_cast<double>(i - begin) / length,
           static_cast<double>(i - begin + 1) / length, begin);
    }
  }
}

/// Of one rank: stretches of several series at one time are one visit.
std::vector<double> joined(std::vector<LateStretch> stretches, bool only_long) {
  std::sort(stretches.begin(), stretches.end(),
            [](const LateStretch& a, const LateStretch& b) { return a.begin < b.begin; });
  std::vector<double> visits;
  for (std::size_t i = 0; i < stretches.size();) {
    LateStretch visit = stretches[i];
    while (++i < stretches.size() && stretches[i].begin < visit.end) {
      visit.end = std::max(visit.end, stretches[i].end);
      visit.waiting_us += stretches[i].waiting_us;
      visit.is_long = visit.is_long || stretches[i].is_long;
    }
    if (visit.is_long || !only_long) visits.push_back(visit.waiting_us);
  }
  return visits;
}

double log_of_ways(std::size_t chosen, std::size_t of) {
  double sum = 0;
  for (std::size_t i = 0; i < chosen; ++i) {
    sum += std::log(static_cast<double>(of - i) / static_cast<double>(i + 1));
  }
  return sum;
}

using Quarters = std::array<double, quarters>;

/// What a rank waits less than the mean rank, in each quarter of the operations; NaN in those that
/// have none.
std::map<int, Quarters> lateness_by_quarter(const JobWaits& job,
                                            const std::vector<JobOperation>& operations) {
  std::map<int, Quarters> waits;
  std::array<bool, quarters> has_some{};
  for_each_with_time(operations, [&](const JobOperation& operation, double begin, double, auto) {
    const auto quarter = static_cast<std::size_t>(begin * quarters);
    has_some.at(quarter) = true;
    const double part =
        static_cast<double>(operation.weight()) * job.part_of(longest_blamed_us(operation));
    for (const LogRecord& record : operation.records) {
      if (!(record.duration_us > 0)) continue;
      waits[job.ranks.in_job(record)].at(quarter) += part * operation.waiting_us(record);
    }
  });
  for (std::size_t q = 0; q < quarters; ++q) {
    double mean = 0;
    for (const auto& [rank, own] : waits) mean += own.at(q) / static_cast<double>(waits.size());
    for (auto& [rank, own] : waits) own.at(q) = has_some.at(q) ? mean - own.at(q) : unknown_time;
  }
  return waits;
}

double known(double us) { return std::isnan(us) ? 0 : us; }

double sum_of(const Quarters& own) {
  return known(own[0]) + known(own[1]) + known(own[2]) + known(own[3]);
}

/// Between the k-th latest and the next of n ranks lies as much, over the spread of the others: if
/// how late each comes falls off exponentially, as the far end of most distributions does not
/// exceed, the i-th spacing from the latest has the mean 1/i.
double chance_to_stand_apart(const std::map<int, Quarters>& lateness,
                             const std::vector<int>& group) {
  double least_of_group = std::numeric_limits<double>::infinity();
  double most = -least_of_group;
  double least = least_of_group;
  for (const auto& [rank, own] : lateness) {
    const double sum = sum_of(own);
    if (std::binary_search(group.begin(), group.end(), rank)) {
      least_of_group = std::min(least_of_group, sum);
    } else {
      most = std::max(most, sum);
      least = std::min(least, sum);
    }
  }
  const std::size_t k = group.size();
  if (!(least_of_group > most) || lateness.size() < k + 2) return 1;
  if (most <= least) return 0;
  const double ratio = static_cast<double>(k) * (least_of_group - most) / (most - least);
  double log_chance = 0;
  for (std::size_t j = k + 1; j < lateness.size(); ++j) {
    log_chance -= std::log1p(ratio / static_cast<double>(j));
  }
  return std::exp(log_chance);
}

/// Without a rank that is late, what the halves of the job have in common differs from rank to rank
/// as much as what they do not.
double chance_of_like_halves(const std::map<int, Quarters>& lateness,
                             const std::vector<int>& group) {
  double squares = 0;
  for (const auto& [rank, own] : lateness) {
    squares += std::pow(known(own[0]) + known(own[1]) - known(own[2]) - known(own[3]), 2);
  }
  const double others = static_cast<double>(lateness.size()) - 1;
  double chance = 0;
  for (const int rank : group) {
    const double sum = sum_of(lateness.at(rank));
    const double one =
        squares > 0 ? student_two_sided(sum / std::sqrt(squares / others), others) / 2 : 0;
    chance = std::max(chance, (others + 1) * one);
  }
  return chance;
}

}  // namespace

Visits visits_of(const JobWaits& job, const std::vector<JobOperation>& operations, bool only_long) {
  std::map<int, std::vector<LateStretch>> stretches;
  SeriesVisits series(job, stretches);
  std::size_t of_series = 0;
  for_each_with_time(
      operations, [&](const JobOperation& operation, double begin, double end, std::size_t first) {
        if (first != of_series) series.finish();
        of_series = first;
        series.take(operation, begin, end);
      });
  series.finish();
  Visits visits;
  for (auto& [rank, own] : stretches) visits[rank] = joined(std::move(own), only_long);
  return visits;
}

double chance_of_visits(const Visits& visits, const std::vector<int>& group, std::size_t members) {
  double most = 0;
  for (const auto& [rank, own] : visits) {
    for (const double waiting_us : own) most = std::max(most, waiting_us);
  }
  double all = 0;
  double of_group = 0;
  for (const auto& [rank, own] : visits) {
    const auto count = static_cast<double>(std::count_if(
        own.begin(), own.end(), [&](double us) { return us >= hardly_waiting_share * most; }));
    all += count;
    if (std::binary_search(group.begin(), group.end(), rank)) of_group += count;
  }
  if (of_group < 1 || group.size() >= members) return 1;
  const double usual = static_cast<double>(group.size()) / static_cast<double>(members);
  const double tail = at_least(of_group, all, usual);
  return std::exp(log_of_ways(group.size(), members)) * tail;
}

std::vector<int> late_in_long_waits(const Visits& long_waits, std::size_t members) {
  std::vector<std::pair<std::size_t, int>> order;
  std::size_t all = 0;
  for (const auto& [rank, own] : long_waits) {
    order.emplace_back(own.size(), rank);
    all += own.size();
  }
  std::sort(order.rbegin(), order.rend());
  std::vector<int> group;
  std::size_t of_group = 0;
  for (const auto& [count, rank] : order) {
    if (static_cast<double>(of_group) >= visits_share * static_cast<double>(all)) break;
    group.push_back(rank);
    of_group += count;
  }
  std::sort(group.begin(), group.end());
  const bool is_told = of_group >= fewest_visits &&
                       (group.size() == 1 || 4 * group.size() <= members) &&
                       chance_of_visits(long_waits, group, members) <= least_chance;
  return is_told ? group : std::vector<int>{};
}

double chance_of_waits(const JobWaits& job, const std::vector<JobOperation>& operations,
                       const std::vector<int>& group) {
  const std::map<int, Quarters> lateness = lateness_by_quarter(job, operations);
  for (const int rank : group) {
    const auto own = lateness.find(rank);
    if (own == lateness.end()) return 1;
    const double least = hardly_waiting_share * sum_of(own->second) / quarters;
    const bool is_steady = least > 0 && std::all_of(own->second.begin(), own->second.end(),
                                                    [&](double us) { return !(us < least); });
    if (!is_steady) return 1;
  }
  return std::min(chance_to_stand_apart(lateness, group), chance_of_like_halves(lateness, group));
}

}  // namespace collbench

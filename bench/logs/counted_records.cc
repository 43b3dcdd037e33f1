// Logs that do not number their collectives: which of one rank's belongs to which of another's.
//
// All ranks of an all-reduce, all-gather or reduce-scatter end together, each by its own clock. So
// between two ranks of a group the difference of ends is the same for all collectives, up to what
// the clocks drift from one to the next, and only if none of either rank is skipped.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "bench/logs/operations.h"
#include "core/quantile.h"

namespace collbench {
namespace {

// How many collectives earlier or later a rank's trace may begin.
constexpr int most_shift = 256;
constexpr std::size_t most_compared = 1024;
constexpr std::size_t fewest_compared = 3;
// Ends of one collective differ by microseconds, and clocks drift by a few from one to the next.
constexpr double surely_together_us = 10;
constexpr double together_us = 100;
// Of the middle duration: what ranks of which nothing else is known have to prove, and those of a
// stated group.
constexpr double together_share = 0.1;
constexpr double stated_share = 0.5;

/// The records of one rank and kind, in the order of their numbers.
using Line = std::vector<LogRecord*>;
using Lines = std::map<LoggedKind, std::map<int, Line>>;

double end_of(const LogRecord& record) { return record.start_us + record.duration_us; }

/// How far the difference of ends moves from one collective to the next, in the middle, with b[i]
/// beside a[i + shift]; infinite where sizes differ or too few are beside each other.
double unsteadiness(const Line& a, const Line& b, int shift) {
  std::vector<double> steps;
  std::size_t alike = 0;
  std::size_t all = 0;
  double before = unknown_time;
  for (std::size_t i = static_cast<std::size_t>(std::max(0, -shift));
       i < b.size() && all < most_compared; ++i) {
    const auto j = static_cast<std::size_t>(static_cast<std::int64_t>(i) + shift);
    if (j >= a.size()) break;
    ++all;
    alike += a[j]->bytes == b[i]->bytes ? 1 : 0;
    const double apart = end_of(*b[i]) - end_of(*a[j]);
    if (std::isfinite(apart - before)) steps.push_back(std::abs(apart - before));
    before = apart;
  }
  const std::size_t shorter = std::min({a.size(), b.size(), most_compared});
  if (steps.size() + 1 < fewest_compared || 2 * all < shorter || 10 * alike < 9 * all) {
    return std::numeric_limits<double>::infinity();
  }
  return quantile(std::move(steps), 0.5);
}

double middle_duration(const Line& line) {
  std::vector<double> durations;
  for (const LogRecord* record : line) {
    if (record->duration_us > 0) durations.push_back(record->duration_us);
  }
  return durations.empty() ? 0 : quantile(std::move(durations), 0.5);
}

/// By how much b's numbers must grow to be a's; nothing if no shift makes them end together.
std::optional<int> shift_between(const Line& a, const Line& b, double share) {
  int best = 0;
  double least = unsteadiness(a, b, 0);
  if (least <= surely_together_us) return 0;
  const double unshifted = least;
  const int most = std::min<int>(most_shift, static_cast<int>(std::max(a.size(), b.size())));
  for (int shift = -most; shift <= most; ++shift) {
    const double here = unsteadiness(a, b, shift);
    // A steady loop is as steady a step later: only what is clearly better counts.
    if (here < least && 2 * here < unshifted) {
      least = here;
      best = shift;
    }
  }
  const double durations = std::min(middle_duration(a), middle_duration(b));
  if (least > std::max(together_us, share * durations)) return std::nullopt;
  return best;
}

/// Whether b fits a as well with another shift: steps that are all as long fit so, and the
/// difference of ends is then that of the clocks or a step more.
bool fits_elsewhere(const Line& a, const Line& b, int chosen) {
  constexpr double resolution_us = 1;  // of the times in traces
  const double limit = 2 * std::max(resolution_us, unsteadiness(a, b, chosen));
  const int most = std::min<int>(most_shift, static_cast<int>(std::max(a.size(), b.size())));
  for (int shift = -most; shift <= most; ++shift) {
    if (shift != chosen && unsteadiness(a, b, shift) <= limit) return true;
  }
  return false;
}

using Shifts = std::map<LoggedKind, int>;

/// What shifts the records of `rank` to those of `base`; empty if too few collectives tell, and
/// nothing if they end apart.
std::optional<Shifts> shifts_between(const Lines& lines, int base, int rank, double share) {
  Shifts shifts;
  for (const auto& [kind, by_rank] : lines) {
    const auto a = by_rank.find(base);
    const auto b = by_rank.find(rank);
    if (!has_bus_rate(kind) || a == by_rank.end() || b == by_rank.end()) continue;
    if (std::min(a->second.size(), b->second.size()) < fewest_compared) continue;
    const std::optional<int> shift = shift_between(a->second, b->second, share);
    if (!shift) return std::nullopt;
    shifts[kind] = *shift;
  }
  return shifts;
}

class Matcher {
 public:
  Matcher(JobLog& job, int communicator) : job_(job), communicator_(communicator) {
    for (LogRecord& record : job.records) {
      if (record.communicator != communicator || std::isnan(end_of(record))) continue;
      lines_[record.kind][record.rank].push_back(&record);
      ranks_.insert(record.rank);
    }
    for (auto& [kind, by_rank] : lines_) {
      for (auto& [rank, line] : by_rank) {
        std::stable_sort(line.begin(), line.end(), [](const LogRecord* a, const LogRecord* b) {
          return a->sequence < b->sequence;
        });
      }
    }
  }

  void match() {
    const bool stated = this_one().states_ranks;
    std::vector<std::vector<int>> groups;
    for (const int rank : ranks_) {
      const auto joined = std::find_if(groups.begin(), groups.end(), [&](auto& group) {
        const auto shifts =
            shifts_between(lines_, group.front(), rank, stated ? stated_share : together_share);
        if (!shifts || (shifts->empty() && !stated)) return false;
        for (const auto& [kind, shift] : *shifts) {
          find_regularity(lines_[kind][group.front()], lines_[kind][rank], shift);
          for (LogRecord* record : lines_[kind][rank]) record->sequence += shift;
        }
        group.push_back(rank);
        return true;
      });
      if (joined == groups.end()) groups.push_back({rank});
    }
    if (groups.size() < 2) return;
    if (stated) {
      forget_times(groups);
    } else {
      split(groups);
    }
  }

 private:
  void find_regularity(const Line& base, const Line& rank, int shift) {
    if (this_one().is_regular || !fits_elsewhere(base, rank, shift)) return;
    this_one().is_regular = true;
    job_.note_once(
        "the steps are so even that these traces, which do not number collectives, fit each other "
        "a "
        "step earlier or later as well: how far the clocks differ cannot be told from them");
  }

  JobCommunicator& this_one() {
    return job_.communicators[static_cast<std::size_t>(communicator_)];
  }

  void of_rank(int rank, const auto& change) {
    for (auto& [kind, by_rank] : lines_) {
      const auto line = by_rank.find(rank);
      if (line == by_rank.end()) continue;
      for (LogRecord* record : line->second) change(*record);
    }
  }

  void forget_times(const std::vector<std::vector<int>>& groups) {
    const auto largest = std::max_element(groups.begin(), groups.end(),
                                          [](auto& a, auto& b) { return a.size() < b.size(); });
    for (const std::vector<int>& group : groups) {
      if (&group == &*largest && group.size() > 1) continue;
      for (const int rank : group) {
        of_rank(rank, [&](LogRecord& record) {
          record.duration_us = unknown_time;
          ++job_.left_out["times of collectives without numbers whose ranks do not end together"];
        });
      }
    }
  }

  /// The ranks of a group are those that end together. How many it has in all is known if every
  /// rank of the job is in one of them.
  void split(const std::vector<std::vector<int>>& groups) {
    const JobCommunicator whole = this_one();
    const bool all_are_here = static_cast<int>(ranks_.size()) >= whole.ranks;
    for (const std::vector<int>& group : groups) {
      const int ranks = all_are_here ? static_cast<int>(group.size()) : whole.ranks;
      const std::string id = fmt::format("{} of rank {}", whole.id, group.front());
      const int made = job_.communicator(id, id, ranks);
      job_.communicators[static_cast<std::size_t>(made)].format = whole.format;
      job_.communicators[static_cast<std::size_t>(made)].is_regular = whole.is_regular;
      for (const int rank : group) {
        of_rank(rank, [&](LogRecord& record) { record.communicator = made; });
      }
    }
  }

  JobLog& job_;
  int communicator_;
  Lines lines_;
  std::set<int> ranks_;
};

}  // namespace

void match_counted_records(JobLog& job) {
  const std::size_t read = job.communicators.size();
  for (std::size_t c = 0; c < read; ++c) {
    if (job.communicators[c].counted) Matcher(job, static_cast<int>(c)).match();
  }
}

}  // namespace collbench

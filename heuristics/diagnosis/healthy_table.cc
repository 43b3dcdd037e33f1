// Judging a case by a table of the same system when it was well.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/diagnosis/suspicion_list.h"
#include "heuristics/diagnosis/table_cases.h"

namespace collbench {
namespace {

double doublings_to(Bytes size) { return std::log2(static_cast<double>(size.count)); }

/// By the place of the size in `sizes`, what `healthy` took for the library and scale of the case;
/// the faster of both places.
std::map<std::size_t, Seconds> times_taken(const DiagnosisCase& given,
                                           const std::vector<Bytes>& sizes,
                                           const MeasuredTable& healthy) {
  const MeasuredTime& asked = given.rows.front();
  std::map<std::size_t, Seconds> taken;
  for (const MeasuredTime& row : healthy.times) {
    const auto place = std::lower_bound(sizes.begin(), sizes.end(), row.bytes);
    const bool same = row.library == asked.library && row.scale == asked.scale && !row.is_wrong();
    if (!same || place == sizes.end() || *place != row.bytes) continue;
    const auto i = static_cast<std::size_t>(place - sizes.begin());
    const auto [at, is_new] = taken.try_emplace(i, row.time);
    if (!is_new) at->second = std::min(at->second, row.time);
  }
  require(
      taken.size() >= 3,
      fmt::format("{}: has {} sizes of {} on {} in common with {}; at least 3 are needed",
                  healthy.name, taken.size(), asked.library, to_string(asked.scale), given.table));
  return taken;
}

/// Keeps the suspicions of what was played when all was well: of those lists that begin with a
/// system as it should be, the one that begins nearest to `taken`.
void keep_play(std::vector<Suspicion>& suspicions, const std::map<std::size_t, Seconds>& taken) {
  const auto is_healthy = [](const Suspicion& each) { return each.cause == nullptr; };
  auto kept = suspicions.begin();
  double least = 1e300;
  for (auto at = suspicions.begin(); at != suspicions.end();
       at = std::find_if(at + 1, suspicions.end(), is_healthy)) {
    double apart = 0;
    for (const auto& [i, time] : taken) apart += std::abs(std::log(time / at->times[i]));
    if (apart >= least) continue;
    least = apart;
    kept = at;
  }
  suspicions.erase(std::find_if(kept + 1, suspicions.end(), is_healthy), suspicions.end());
  suspicions.erase(suspicions.begin(), kept);
}

/// Where it is known what was taken, a rank that is late by less shows, too: by half of
/// `least_taken`.
void replace_late_ranks(std::vector<Suspicion>& suspicions, const std::vector<Bytes>& sizes,
                        Seconds least_taken) {
  const Cause* const straggler = &cause("straggler");
  double weight = 0;
  for (const Suspicion& each : suspicions) weight += each.cause == straggler ? each.weight : 0;
  std::erase_if(suspicions, [&](const Suspicion& each) { return each.cause == straggler; });
  std::vector<LateRank> late = late_rank_curves(0.5 * least_taken);
  for (LateRank& each : late) {
    Suspicion& added = suspicions.emplace_back();
    added.cause = straggler;
    added.words = std::move(each.words);
    added.weight = weight / static_cast<double>(late.size());
    added.slower = std::move(each.slower);
    make_plain(added, suspicions.front(), sizes);
  }
}

/// Straight between the points, and level beyond them.
double between(const std::map<double, double>& points, double x) {
  const auto above = points.lower_bound(x);
  if (above == points.begin()) return above->second;
  if (above == points.end()) return points.rbegin()->second;
  const auto below = std::prev(above);
  const double share = (x - below->first) / (above->first - below->first);
  return below->second + share * (above->second - below->second);
}

}  // namespace

void judge_by_healthy(DiagnosisCase& given, const MeasuredTable& healthy) {
  const std::vector<Bytes> sizes = sizes_of(given.rows);
  const std::map<std::size_t, Seconds> taken = times_taken(given, sizes, healthy);
  keep_play(given.suspicions, taken);
  std::map<double, double> logs;  // ln(taken / expected) by log2 of the size
  for (const auto& [i, time] : taken) {
    logs[doublings_to(sizes[i])] = std::log(time / given.suspicions.front().times[i]);
  }
  replace_late_ranks(given.suspicions, sizes, taken.begin()->second);
  std::vector<double> factors;
  for (const Bytes size : sizes) factors.push_back(std::exp(between(logs, doublings_to(size))));
  for (Suspicion& suspicion : given.suspicions) {
    if (suspicion.slower) {
      make_plain(suspicion, given.suspicions.front(), sizes);  // which is what was taken by now
      continue;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      suspicion.times[i] = suspicion.times[i] * factors[i];
    }
    suspicion.latency = suspicion.latency * factors.front();
  }
  given.error = error_of_known_system();
  given.or_machines.clear();
  given.or_unknown.clear();
}

}  // namespace collbench

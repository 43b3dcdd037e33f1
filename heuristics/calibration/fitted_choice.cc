#include "heuristics/calibration/fitted_choice.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace collbench {
namespace {

double size_distance(Bytes a, Bytes b) {
  return std::abs(std::log2(static_cast<double>(std::max<std::int64_t>(a.count, 1))) -
                  std::log2(static_cast<double>(std::max<std::int64_t>(b.count, 1))));
}

/// Moves the tied candidate that was measured as the fastest to the front.
void settle_ties(const std::vector<MeasuredTime>& rows, const Scale& scale, Bytes bytes,
                 std::vector<FittedCandidate>& candidates) {
  const std::string system = candidates.front().method.system;
  std::map<std::string, Seconds> known;
  for (const MeasuredTime& row : times_at_largest_scale(rows, system, scale, bytes)) {
    known[full_name(row.algorithm, row.protocol)] = row.time;
  }
  const auto known_time = [&](const FittedCandidate& candidate) {
    const auto found = known.find(full_name(candidate.method.algorithm, candidate.method.protocol));
    return found == known.end() ? Seconds{-1} : found->second;
  };
  // Those that were not measured are not known to be slower; the fastest of them stays.
  const auto is_better = [&](const FittedCandidate& a, const FittedCandidate& b) {
    if (a.may_change != b.may_change) return !a.may_change;
    const Seconds time_a = known_time(a);
    const Seconds time_b = known_time(b);
    return time_a > Seconds{0} && time_b > Seconds{0} && time_a < time_b;
  };
  auto best = candidates.begin();
  for (auto each = candidates.begin(); each != candidates.end(); ++each) {
    if (each->is_tied && is_better(*each, *best)) best = each;
  }
  std::rotate(candidates.begin(), best, std::next(best));
}

bool is_measured_scale(const std::vector<MeasuredTime>& points, const Scale& scale) {
  return std::any_of(points.begin(), points.end(), [&](const MeasuredTime& point) {
    return point.scale.ranks == scale.ranks && point.scale.nodes == scale.nodes;
  });
}

}  // namespace

std::vector<MeasuredTime> times_at_largest_scale(std::span<const MeasuredTime> rows,
                                                 const std::string& system, const Scale& scale,
                                                 Bytes bytes) {
  const auto fits = [&](const MeasuredTime& row) {
    return (system.empty() || row.system == system) && !row.is_wrong() &&
           row.scale.cores == scale.cores &&
           (scale.is_host() || row.scale.ranks_per_node() == scale.ranks_per_node());
  };
  Scale largest;
  for (const MeasuredTime& row : rows) {
    if (fits(row) && row.scale.ranks > largest.ranks) largest = row.scale;
  }
  double least = 1e9;
  for (const MeasuredTime& row : rows) {
    if (fits(row) && row.scale == largest) least = std::min(least, size_distance(row.bytes, bytes));
  }
  std::vector<MeasuredTime> times;
  for (const MeasuredTime& row : rows) {
    if (fits(row) && row.scale == largest && size_distance(row.bytes, bytes) == least) {
      times.push_back(row);
    }
  }
  return times;
}

std::vector<FittedCandidate> rank_methods(const Calibration& calibration,
                                          std::span<const MethodKey> methods, const Scale& scale,
                                          Bytes bytes) {
  std::vector<FittedCandidate> candidates;
  for (const MethodKey& method : methods) {
    FittedCandidate candidate;
    candidate.method = method;
    const auto estimate = calibration.estimate(method, scale, bytes, &candidate.instead);
    if (!estimate) continue;
    candidate.estimate = *estimate;
    candidate.counted = estimate->time;
    if (const StructuralModel* structure = calibration.structure_of(method, scale)) {
      candidate.counted *= structure->preference(method, scale, bytes);
      candidate.may_change = structure->may_change(method, scale, bytes);
    }
    candidates.push_back(std::move(candidate));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.counted < b.counted; });
  for (FittedCandidate& candidate : candidates) {
    candidate.is_tied = candidate.counted <= candidates.front().counted * (1 + tie);
  }
  const bool close = candidates.size() > 1 && candidates[1].is_tied;
  if (!close) return candidates;
  const std::vector<MeasuredTime> points = calibration.points();
  if (!is_measured_scale(points, scale)) settle_ties(points, scale, bytes, candidates);
  return candidates;
}

}  // namespace collbench

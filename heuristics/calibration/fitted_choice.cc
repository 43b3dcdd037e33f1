#include "heuristics/calibration/fitted_choice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "heuristics/time_curve.h"

namespace collbench {
namespace {

constexpr double certain_enough = 0.9;  // the 80 % interval of the difference is above nothing
constexpr double same_size = 1.5;       // doublings; tables step by up to eight times

double size_distance(Bytes a, Bytes b) {
  return std::abs(std::log2(static_cast<double>(std::max<std::int64_t>(a.count, 1))) -
                  std::log2(static_cast<double>(std::max<std::int64_t>(b.count, 1))));
}

/// Times at the largest scale measured, with the size that they are of.
struct KnownTimes {
  std::map<MethodKey, Seconds> times;
  Bytes bytes;

  Seconds of(const FittedCandidate& candidate) const {
    const auto found = times.find(candidate.method);
    return found == times.end() ? Seconds{-1} : found->second;
  }
};

/// Moves the tied candidate that was measured as the fastest to the front.
void settle_ties(const KnownTimes& known, std::vector<FittedCandidate>& candidates) {
  // Those that were not measured are not known to be slower; the fastest of them stays.
  const auto is_better = [&](const FittedCandidate& a, const FittedCandidate& b) {
    if (a.may_change != b.may_change) return !a.may_change;
    const Seconds time_a = known.of(a);
    const Seconds time_b = known.of(b);
    return time_a > Seconds{0} && time_b > Seconds{0} && time_a < time_b;
  };
  auto best = candidates.begin();
  for (auto each = candidates.begin(); each != candidates.end(); ++each) {
    if (each->is_tied && is_better(*each, *best)) best = each;
  }
  std::rotate(candidates.begin(), best, std::next(best));
}

double log_deviation(const Estimate& estimate) {
  constexpr double eighty_percent = 1.2816;
  return std::log(estimate.high / estimate.low) / (2 * eighty_percent);
}

/// That `a` is faster than `b`. Half of the variance at a scale that was not measured is common to
/// all methods there and does not change their order; where `b` was measured, nothing is.
double probability_faster(const FittedCandidate& a, const FittedCandidate& b,
                          double common_variance) {
  const double deviation = std::sqrt(1 - common_variance) *
                           std::hypot(log_deviation(a.estimate), log_deviation(b.estimate));
  const double lead = std::log(b.counted / a.counted);
  if (deviation <= 0) return lead > 0 ? 1 : 0;
  return 0.5 * std::erfc(-lead / deviation / std::sqrt(2.0));
}

/// Moves what was the fastest where it was measured to the front, unless the one in front is faster
/// with some certainty: a model that is unsure should not overrule a measurement.
void keep_the_known(const KnownTimes& known, double common_variance,
                    std::vector<FittedCandidate>& candidates) {
  auto best = candidates.end();
  for (auto each = candidates.begin(); each != candidates.end(); ++each) {
    const Seconds time = known.of(*each);
    if (each->may_change || time <= Seconds{0}) continue;
    if (best == candidates.end() || time < known.of(*best)) best = each;
  }
  if (best == candidates.end() || best == candidates.begin()) return;
  if (probability_faster(candidates.front(), *best, common_variance) >= certain_enough) return;
  best->is_kept = true;
  std::rotate(candidates.begin(), best, std::next(best));
}

/// Moves the library's own choice to the front outside the sizes that were measured of it at this
/// very scale, unless enough is gained by another.
void keep_default(std::span<const MeasuredTime> points, const Scale& scale, Bytes bytes,
                  std::vector<FittedCandidate>& candidates) {
  const auto own = std::ranges::find_if(candidates, [](const FittedCandidate& candidate) {
    return is_library_default(candidate.method.algorithm);
  });
  if (own == candidates.end() || own == candidates.begin()) return;
  TimeCurve curve;
  for (const MeasuredTime& point : points) {
    const bool is_own = point.algorithm == own->method.algorithm &&
                        point.library == own->method.library && point.system == own->method.system;
    if (is_own && point.scale == scale) curve[point.bytes.count] = point.time.count();
  }
  if (curve.empty()) return;
  const double outside =
      doublings_outside(curve, static_cast<double>(std::max<std::int64_t>(bytes.count, 1)));
  const double enough = 1 - worth_leaving_default * outside;
  if (outside == 0 || candidates.front().counted < own->counted * enough) return;
  own->is_default = true;
  std::rotate(candidates.begin(), own, std::next(own));
}

/// None for a method of which neither its own trend nor its schedule tells the time.
std::optional<FittedCandidate> candidate_of(const Calibration& calibration, const MethodKey& method,
                                            const Scale& scale, Bytes bytes) {
  FittedCandidate candidate;
  const StructuralModel* structure = calibration.structure_of(method, scale);
  if (structure == nullptr) {
    const MethodModel* trend = calibration.find(method);
    if (trend == nullptr || trend->method().algorithm != method.algorithm) return {};
  }
  candidate.estimate = *calibration.estimate(method, scale, bytes);
  candidate.counted = candidate.estimate.time;
  if (structure != nullptr) {
    candidate.counted *= structure->preference(method, scale, bytes);
    candidate.may_change = structure->may_change(method, scale, bytes);
    candidate.is_measured = structure->has_measured(method);
  }
  return candidate;
}

/// The same, as far as both say.
bool is_alike(const Scale& a, const Scale& b) {
  const bool is_shape_known = a.shape != GridShape{} && b.shape != GridShape{};
  const bool are_cores_known = a.cores > 0 && b.cores > 0;
  return a.ranks == b.ranks && a.nodes == b.nodes && (!is_shape_known || a.shape == b.shape) &&
         (!are_cores_known || a.cores == b.cores);
}

/// Of the calibration's methods, those that were measured at the scale.
std::set<MethodKey> measured_there(const Calibration& calibration, const Scale& scale) {
  std::set<MethodKey> methods;
  for (const MeasuredMethod& each : calibration.measured()) {
    const bool is_there = std::ranges::any_of(
        each.points, [&](const MeasuredTime& point) { return is_alike(point.scale, scale); });
    if (is_there) methods.insert(each.method);
  }
  return methods;
}

/// What was measured of the candidates that are only predicted at the scale, at the largest one.
KnownTimes times_of_others(const Calibration& calibration, const std::set<MethodKey>& there,
                           const std::vector<FittedCandidate>& candidates, const Scale& scale,
                           Bytes bytes) {
  std::vector<MeasuredTime> rows;
  for (const MeasuredMethod& each : calibration.measured()) {
    const bool is_other = there.count(each.method) == 0 &&
                          std::ranges::any_of(candidates, [&](const FittedCandidate& candidate) {
                            return candidate.method == each.method;
                          });
    if (is_other) rows.insert(rows.end(), each.points.begin(), each.points.end());
  }
  KnownTimes known;
  for (const MeasuredTime& row :
       times_at_largest_scale(rows, candidates.front().method.system, scale, bytes)) {
    known.times[method_of(row)] = row.time;
    known.bytes = row.bytes;
  }
  return known;
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
  // Of scales of as many ranks that of the shape asked for comes first, else any, but always one.
  const auto size_of_scale = [&](const Scale& each) {
    return std::tuple(each.ranks, each.shape == scale.shape, each);
  };
  Scale largest;
  for (const MeasuredTime& row : rows) {
    if (fits(row) && size_of_scale(row.scale) > size_of_scale(largest)) largest = row.scale;
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
                                          Bytes bytes, std::optional<ReductionAsked> reduction) {
  std::vector<FittedCandidate> candidates;
  for (const MethodKey& method : methods) {
    MethodKey asked = method;
    if (reduction) std::tie(asked.type, asked.op) = std::tie(reduction->type, reduction->op);
    if (auto candidate = candidate_of(calibration, asked, scale, bytes)) {
      candidates.push_back(*std::move(candidate));
      candidates.back().method = method;
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.counted < b.counted; });
  for (FittedCandidate& candidate : candidates) {
    candidate.is_tied = candidate.counted <= candidates.front().counted * (1 + tie);
  }
  if (candidates.size() < 2) return candidates;
  const std::set<MethodKey> there = measured_there(calibration, scale);
  if (there.count(candidates.front().method) == 0) {
    const KnownTimes known = times_of_others(calibration, there, candidates, scale, bytes);
    settle_ties(known, candidates);
    if (size_distance(known.bytes, bytes) <= same_size) keep_the_known(known, 0.5, candidates);
    KnownTimes here;
    for (const FittedCandidate& each : candidates) {
      if (there.count(each.method) > 0) here.times[each.method] = each.counted;
    }
    keep_the_known(here, 0, candidates);
  }
  keep_default(calibration.points(), scale, bytes, candidates);
  return candidates;
}

}  // namespace collbench

#include "bench/verdicts/statistics_changes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/special_functions/beta.hpp>

#include "core/error.h"

namespace collbench {
namespace {

using InDoubles = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares(std::span<const double> values) {
  const double middle = mean(values);
  return std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double value) {
    return sum + (value - middle) * (value - middle);
  });
}

/// Splits recursively wherever the best split is significant at `p`; appends to `found`.
void split(std::span<const double> series, std::size_t offset, const ChangeRule& rule, double p,
           std::vector<std::size_t>& found) {
  const std::vector<double> energy = energy_of_splits(series, rule.shortest);
  if (energy.empty()) return;
  const auto best = std::max_element(energy.begin(), energy.end());
  const std::size_t at = rule.shortest + static_cast<std::size_t>(best - energy.begin());
  if (t_test(series.first(at), series.subspan(at)) > p) return;
  found.push_back(offset + at);
  split(series.first(at), offset, rule, p, found);
  split(series.subspan(at), offset + at, rule, p, found);
}

/// The change at the i-th candidate between its neighbours.
ChangePoint judge(std::span<const double> series, const std::vector<std::size_t>& candidates,
                  std::size_t i) {
  const std::size_t begin = i == 0 ? 0 : candidates[i - 1];
  const std::size_t end = i + 1 == candidates.size() ? series.size() : candidates[i + 1];
  const auto left = series.subspan(begin, candidates[i] - begin);
  const auto right = series.subspan(candidates[i], end - candidates[i]);
  return {candidates[i], mean(left), mean(right), t_test(left, right)};
}

bool is_too_small(const ChangePoint& change, double least) {
  return std::abs(change.after / change.before - 1) < least;
}

}  // namespace

double student_two_sided(double t, double degrees_of_freedom) {
  // Boost's, since lgamma() of the C library writes a global and comparisons run on many threads.
  return boost::math::ibeta(degrees_of_freedom / 2, 0.5,
                            degrees_of_freedom / (degrees_of_freedom + t * t), InDoubles());
}

double at_least(double successes, double trials, double chance) {
  return boost::math::ibeta(successes, trials - successes + 1, chance, InDoubles());
}

double t_test(std::span<const double> first, std::span<const double> second) {
  if (first.size() < 2 || second.size() < 2) return 1;
  const auto n = static_cast<double>(first.size());
  const auto m = static_cast<double>(second.size());
  const double variance = (squares(first) + squares(second)) / (n + m - 2);
  const double difference = mean(second) - mean(first);
  if (variance <= 0) return difference == 0 ? 1 : 0;
  return student_two_sided(difference / std::sqrt(variance * (1 / n + 1 / m)), n + m - 2);
}

std::vector<double> energy_of_splits(std::span<const double> series, std::size_t shortest) {
  require(shortest >= 2, "the stretches beside a change need two points at least");
  const std::size_t total = series.size();
  if (total < 2 * shortest) return {};
  // Moving one point to the left moves its distances: sums of pairs on the left, on the right, and
  // across are kept instead of made anew.
  double left = 0;
  double across = 0;
  double right = 0;
  for (std::size_t i = 0; i < total; ++i) {
    for (std::size_t j = i + 1; j < total; ++j) right += std::abs(series[i] - series[j]);
  }
  std::vector<double> energy;
  for (std::size_t n = 1; n + shortest <= total; ++n) {
    double to_left = 0;
    double to_right = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) to_left += std::abs(series[i] - series[n - 1]);
    for (std::size_t i = n; i < total; ++i) to_right += std::abs(series[i] - series[n - 1]);
    left += to_left;
    across += to_right - to_left;
    right -= to_right;
    if (n < shortest) continue;
    const auto a = static_cast<double>(n);
    const auto b = static_cast<double>(total - n);
    energy.push_back(a * b / (a + b) *
                     (2 * across / (a * b) - left / (a * (a - 1) / 2) - right / (b * (b - 1) / 2)));
  }
  return energy;
}

std::vector<ChangePoint> change_points(std::span<const double> series, const ChangeRule& rule) {
  require(rule.window >= 2 * rule.shortest, "a window for change points must hold two stretches");
  constexpr double leniency = 10;  // of candidates: those kept are judged again, with more points
  std::vector<std::size_t> candidates;
  for (std::size_t begin = 0; begin < series.size(); begin += rule.window / 2) {
    const std::size_t length = std::min(rule.window, series.size() - begin);
    split(series.subspan(begin, length), begin, rule, std::min(1.0, rule.p * leniency), candidates);
    if (begin + length == series.size()) break;
  }
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  while (!candidates.empty()) {
    std::vector<ChangePoint> changes;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      changes.push_back(judge(series, candidates, i));
    }
    // The weakest: of too small a step first, then the least sure.
    const auto weakness = [&](const ChangePoint& change) {
      return is_too_small(change, rule.least_change) ? 2.0 : change.p;
    };
    const auto weakest = std::max_element(
        changes.begin(), changes.end(),
        [&](const auto& one, const auto& other) { return weakness(one) < weakness(other); });
    if (weakness(*weakest) <= rule.p) return changes;
    candidates.erase(candidates.begin() + (weakest - changes.begin()));
  }
  return {};
}

}  // namespace collbench

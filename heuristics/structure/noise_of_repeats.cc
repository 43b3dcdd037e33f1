#include "heuristics/structure/noise_of_repeats.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "core/quantile.h"

namespace collbench {

double noise_of_repeats(std::span<const MeasuredTime> rows) {
  constexpr std::size_t least_repeats = 4;
  constexpr double disturbed = 3;
  std::map<std::tuple<MethodKey, Scale, Bytes>, std::vector<double>> points;
  for (const MeasuredTime& row : rows) {
    points[{method_of(row), row.scale, row.bytes}].push_back(std::log(row.time.count()));
  }
  std::vector<double> deviations;
  std::size_t repeats = 0;
  for (const auto& [point, logs] : points) {
    if (logs.size() < 2) continue;
    const auto n = static_cast<double>(logs.size());
    double mean = 0;
    for (const double log : logs) mean += log / n;
    for (const double log : logs) {
      deviations.push_back(std::abs(log - mean) * std::sqrt(n / (n - 1)));
    }
    repeats += logs.size() - 1;
  }
  if (repeats < least_repeats) return 0;
  const double most = disturbed * quantile(deviations, 0.5);
  double squares = 0;
  for (const double deviation : deviations) squares += std::pow(std::min(deviation, most), 2);
  return std::sqrt(squares / static_cast<double>(deviations.size()));
}

}  // namespace collbench

#include "core/quantile.h"

#include <algorithm>

#include "core/error.h"

namespace collbench {

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return quantile_of_sorted(values, part);
}

double quantile_of_sorted(const std::vector<double>& values, double part) {
  require(!values.empty() && part >= 0 && part <= 1, "a quantile needs values and a part of 0..1");
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

}  // namespace collbench

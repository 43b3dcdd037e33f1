// Quantiles of samples, by linear interpolation between the two nearest (type 7, as NumPy's).
#pragma once

#include <vector>

namespace collbench {

/// Throws InvalidArgument without values, and for a part that is not from 0 to 1.
double quantile(std::vector<double> values, double part);
/// The same for sorted values.
double quantile_of_sorted(const std::vector<double>& values, double part);

}  // namespace collbench

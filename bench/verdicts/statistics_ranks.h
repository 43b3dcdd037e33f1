// Rank tests, their intervals, and the correction for many tests.
//
// Times have heavy tails and no known distribution, so nothing here assumes one. Null distributions
// are exact while samples are small: with ties those of pairs, and of two samples of some twenty
// values each, or if one of them is very small. Else they are normal with the correction for ties
// and for continuity. Values that differ by 1e-12 or less are equal. Figures agree with SciPy's to
// 1e-9 (tests/bench/statistics_figures.json). Thread safety: all functions may run on any number of
// threads.
#pragma once

#include <span>
#include <vector>

namespace collbench {

/// One-sided chances of so extreme a statistic if nothing differs.
struct RankTest {
  double statistic = 0;  // U of `second`, or the sum of ranks of positive differences
  double p_greater = 1;  // that `second` (or the differences) is not larger
  double p_less = 1;     // that it is not smaller
  bool exact = false;    // from the exact distribution
};

/// An estimate of a shift with a two-sided interval; the ends are infinite where the sample is too
/// small to bound it.
struct Shift {
  double estimate = 0;
  double low = 0;
  double high = 0;
};

/// Mann-Whitney's U: how often a value of `second` exceeds one of `first`, ties half. Cut into
/// `blocks` equal parts, only values of the same part meet (van Elteren 1960): what part the values
/// come from then makes no difference. Requires values on both sides, none NaN.
RankTest mann_whitney(std::span<const double> first, std::span<const double> second,
                      std::size_t blocks = 1);

/// Hodges and Lehmann's shift from `first` to `second`: the median of all differences, or of those
/// within the blocks; the interval holds the shifts that mann_whitney() does not refute at
/// (1 - confidence) / 2 on either side.
Shift hodges_lehmann(std::span<const double> first, std::span<const double> second,
                     double confidence, std::size_t blocks = 1);

/// Wilcoxon's signed ranks of paired differences; zeros are left out. Requires a difference.
RankTest wilcoxon(std::span<const double> differences);

/// The median of the means of all pairs (Walsh averages) and its interval by signed ranks.
Shift walsh_shift(std::span<const double> differences, double confidence);

/// Holm's adjusted chances: those at most alpha may be rejected together with a chance of at most
/// alpha that any of them is a false one. In the order given.
std::vector<double> holm(std::span<const double> p);

/// Of the normal distribution: P(Z <= z), and z for a chance in (0, 1).
double normal_cdf(double z);
double normal_quantile(double p);

}  // namespace collbench

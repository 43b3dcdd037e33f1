// The shift between two samples, or of one from zero, by the order of all pairs: the median of the
// candidates and those that stand k from either end.
#pragma once

#include <cstddef>
#include <span>

#include "bench/verdicts/statistics_ranks.h"

namespace collbench {

/// By all differences of a value of `second` less one of `first` of the same of `blocks` equal
/// parts. k = 0: the ends are infinite. Time and memory grow with the values, not the pairs, where
/// these are millions. Requires values, none NaN, and blocks that part both samples.
Shift shift_by_differences(std::span<const double> first, std::span<const double> second,
                           std::size_t blocks, std::size_t k);

/// By the means of all pairs, each value with itself too; likewise.
Shift shift_by_means(std::span<const double> differences, std::size_t k);

}  // namespace collbench

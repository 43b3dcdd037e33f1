// Elements of every kind for tests of reductions: whatever bits, ordinary values, signed zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data_type.h"

namespace collbench {

/// The bytes of `count` elements: a quarter is any bits (NaN, infinities, subnormals included), an
/// eighth zeros of either sign, the rest moderate numbers with all their digits.
std::vector<std::byte> every_element(DataType type, std::int64_t count, std::uint64_t seed);

/// The CPU's reduce() into one new array.
std::vector<std::byte> reduced_by_cpu(DataType type, ReduceOp op, int divisor,
                                      const std::vector<std::vector<std::byte>>& sources);

}  // namespace collbench

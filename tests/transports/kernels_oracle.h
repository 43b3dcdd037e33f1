// What reduce() must give, one element at a time, written without the kernels' tricks: formats are
// decoded and encoded through arithmetic on doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/data_type.h"
#include "transports/endpoint.h"

namespace collbench {

/// A binary floating format by its field widths, as in IEEE 754.
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
};
constexpr FloatFormat f16_format{5, 10};
constexpr FloatFormat bf16_format{8, 7};

double decode(std::uint64_t bits, FloatFormat format);
/// Rounded to nearest even; NaN becomes the canonical one.
std::uint64_t encode(double value, FloatFormat format);

/// The elements' bytes that folding `sources` of `count` elements must give.
std::vector<std::byte> expected_fold(DataType type, Reduction reduction,
                                     const std::vector<std::vector<std::byte>>& sources,
                                     std::int64_t count);

}  // namespace collbench

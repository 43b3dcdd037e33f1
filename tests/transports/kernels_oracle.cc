#include "tests/transports/kernels_oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace collbench {
namespace {

template <class T>
T element(const std::vector<std::byte>& bytes, std::int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
T apply(ReduceOp op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == ReduceOp::min || op == ReduceOp::max) {
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
      if (a == b) return std::signbit(a) == (op == ReduceOp::min) ? a : b;
    }
  }
  switch (op) {
    case ReduceOp::prod:
      if constexpr (std::is_floating_point_v<T>) {
        return a * b;
      } else {
        return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      }
    case ReduceOp::min:
      return b < a ? b : a;
    case ReduceOp::max:
      return b > a ? b : a;
    case ReduceOp::sum:
    case ReduceOp::avg:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}

template <class T>
T finish(T folded, int divisor) {
  if constexpr (std::is_floating_point_v<T>) {
    if (divisor != 1) folded *= T{1} / static_cast<T>(divisor);
    return std::isnan(folded) ? std::numeric_limits<T>::quiet_NaN() : folded;
  } else {
    return static_cast<T>(folded / divisor);
  }
}

/// Folds elements stored as Stored, read by `read` and written by `write`.
template <class Stored, class Read, class Write>
std::vector<std::byte> fold(Reduction reduction, const std::vector<std::vector<std::byte>>& sources,
                            std::int64_t count, Read read, Write write) {
  std::vector<std::byte> result(static_cast<std::size_t>(count) * sizeof(Stored));
  for (std::int64_t i = 0; i < count; ++i) {
    auto folded = read(element<Stored>(sources[0], i));
    for (std::size_t s = 1; s < sources.size(); ++s) {
      folded = apply(reduction.op, folded, read(element<Stored>(sources[s], i)));
    }
    const Stored stored = write(finish(folded, reduction.divisor));
    std::memcpy(result.data() + i * static_cast<std::int64_t>(sizeof(Stored)), &stored,
                sizeof(Stored));
  }
  return result;
}

template <class T>
std::vector<std::byte> fold_plain(Reduction reduction,
                                  const std::vector<std::vector<std::byte>>& sources,
                                  std::int64_t count) {
  const auto same = [](T value) { return value; };
  return fold<T>(reduction, sources, count, same, same);
}

std::vector<std::byte> fold_short(Reduction reduction,
                                  const std::vector<std::vector<std::byte>>& sources,
                                  std::int64_t count, FloatFormat format) {
  const auto read = [&](std::uint16_t bits) { return static_cast<float>(decode(bits, format)); };
  const auto write = [&](float value) { return static_cast<std::uint16_t>(encode(value, format)); };
  return fold<std::uint16_t>(reduction, sources, count, read, write);
}

}  // namespace

double decode(std::uint64_t bits, FloatFormat format) {
  const std::uint64_t mantissas = std::uint64_t{1} << format.mantissa_bits;
  const std::uint64_t top = (std::uint64_t{1} << format.exponent_bits) - 1;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint64_t mantissa = bits & (mantissas - 1);
  const std::uint64_t exponent = (bits >> format.mantissa_bits) & top;
  const bool negative = (bits >> (format.mantissa_bits + format.exponent_bits)) != 0;
  double value = 0;
  if (exponent == top) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - bias - format.mantissa_bits);
  } else {
    value = std::ldexp(static_cast<double>(mantissa + mantissas),
                       static_cast<int>(exponent) - bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

std::uint64_t encode(double value, FloatFormat format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const std::uint64_t infinity = ((std::uint64_t{1} << format.exponent_bits) - 1)
                                 << format.mantissa_bits;
  if (std::isnan(value)) return infinity | (std::uint64_t{1} << (format.mantissa_bits - 1));
  const std::uint64_t sign = static_cast<std::uint64_t>(std::signbit(value))
                             << (format.mantissa_bits + format.exponent_bits);
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  // Units beyond the mantissa carry into the exponent field, up to infinity.
  const auto field = static_cast<std::uint64_t>(exponent + bias - 1) << format.mantissa_bits;
  return sign | std::min(field + static_cast<std::uint64_t>(units), infinity);
}

std::vector<std::byte> expected_fold(DataType type, Reduction reduction,
                                     const std::vector<std::vector<std::byte>>& sources,
                                     std::int64_t count) {
  if (sources.size() == 1 && reduction.divisor == 1) {
    return {sources[0].begin(), sources[0].begin() + count * size_of(type)};
  }
  switch (type) {
    case DataType::f16:
      return fold_short(reduction, sources, count, f16_format);
    case DataType::bf16:
      return fold_short(reduction, sources, count, bf16_format);
    case DataType::f32:
      return fold_plain<float>(reduction, sources, count);
    case DataType::f64:
      return fold_plain<double>(reduction, sources, count);
    case DataType::i32:
      return fold_plain<std::int32_t>(reduction, sources, count);
    case DataType::i64:
      return fold_plain<std::int64_t>(reduction, sources, count);
    case DataType::u8:
      return fold_plain<std::uint8_t>(reduction, sources, count);
  }
  return {};
}

}  // namespace collbench

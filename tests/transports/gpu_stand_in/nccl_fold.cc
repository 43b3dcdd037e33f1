#include "tests/transports/gpu_stand_in/nccl_fold.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <type_traits>

#include "transports/cuda/nccl_abi.h"

namespace stand_in {
namespace {

float half_to_float(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                   : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}
std::uint16_t float_to_half(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent);
  const auto mantissa = static_cast<unsigned>(std::nearbyint(std::ldexp(fraction, 11)));
  const unsigned bits = (static_cast<unsigned>(exponent + 14) << 10) + mantissa - 1024;
  return static_cast<std::uint16_t>(bits | (value < 0 ? 0x8000U : 0U));
}

struct Half {
  std::uint16_t bits;
  explicit operator double() const { return half_to_float(bits); }
  static Half of(double value) { return {float_to_half(static_cast<float>(value))}; }
};
struct Brain {
  std::uint16_t bits;
  explicit operator double() const {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }
  static Brain of(double value) {
    const auto narrow = static_cast<float>(value);
    std::uint32_t wide = 0;
    std::memcpy(&wide, &narrow, sizeof wide);
    return {static_cast<std::uint16_t>(wide >> 16)};
  }
};

// What elements are added up in: integers wrap round in their own type, as on a device.
template <typename T>
using Sum = std::conditional_t<std::is_integral_v<T>, T, double>;

template <typename S, typename Operation>
S wrapped(S a, S b, const Operation& operation) {
  if constexpr (std::is_integral_v<S>) {
    return static_cast<S>(operation(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  } else {
    return operation(a, b);
  }
}

template <typename T>
T made(Sum<T> value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return T::of(value);
  }
}

template <typename T>
void fold(const Slots& slots, std::byte* out, std::size_t count, int op) {
  for (std::size_t i = 0; i < count; ++i) {
    Sum<T> result = 0;
    for (int rank = 0; rank < slots.ranks; ++rank) {
      T element;
      std::memcpy(&element,
                  slots.first + static_cast<std::size_t>(rank) * slots.bytes + i * sizeof(T),
                  sizeof element);
      const auto value = static_cast<Sum<T>>(element);
      if (rank == 0) {
        result = value;
      } else if (op == collbench::nccl_sum || op == collbench::nccl_avg) {
        result = wrapped(result, value, std::plus<>());
      } else if (op == collbench::nccl_prod) {
        result = wrapped(result, value, std::multiplies<>());
      } else {
        result = op == collbench::nccl_max ? std::max(result, value) : std::min(result, value);
      }
    }
    if (op == collbench::nccl_avg) result = static_cast<Sum<T>>(result / slots.ranks);
    const T element = made<T>(result);
    std::memcpy(out + i * sizeof(T), &element, sizeof element);
  }
}

}  // namespace

std::size_t width_of(int type) {
  static constexpr std::size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return widths[type];
}

void fold_any(const Slots& slots, std::byte* out, std::size_t count, int type, int op) {
  switch (type) {
    case collbench::nccl_u8:
      return fold<std::uint8_t>(slots, out, count, op);
    case collbench::nccl_i32:
      return fold<std::int32_t>(slots, out, count, op);
    case collbench::nccl_i64:
      return fold<std::int64_t>(slots, out, count, op);
    case collbench::nccl_f16:
      return fold<Half>(slots, out, count, op);
    case collbench::nccl_f32:
      return fold<float>(slots, out, count, op);
    case collbench::nccl_f64:
      return fold<double>(slots, out, count, op);
    case collbench::nccl_bf16:
      return fold<Brain>(slots, out, count, op);
    default:
      std::abort();
  }
}

}  // namespace stand_in

// How one element is read, folded and written on a GPU: the same bits as reduce() of kernels.h.
//
// Plain constexpr functions of one element, which nvcc also compiles for the device
// (--expt-relaxed-constexpr): tests compare them with the CPU's kernels without a GPU. Both
// sides must be compiled without contraction, and the device without flushing subnormals.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/data_type.h"

namespace collbench {

/// f32 and f64. A NaN result is the canonical quiet one.
template <class Real, class Bits, Bits quiet_nan>
struct FloatingElement {
  using Stored = Real;
  using Folded = Real;
  using Ordered = Real;
  using Divisor = Real;  // the factor 1 / n

  static constexpr Divisor divisor(int n) { return Real{1} / static_cast<Real>(n); }
  static constexpr Folded divide(Folded v, Divisor factor) { return v * factor; }
  static constexpr Folded widen(Stored v) { return v; }
  static constexpr Folded canonical(Folded v) {
    return v == v ? v : std::bit_cast<Real>(quiet_nan);
  }
  static constexpr Stored narrow(Folded v) { return canonical(v); }
};
using F32Element = FloatingElement<float, std::uint32_t, 0x7fc00000U>;
using F64Element = FloatingElement<double, std::uint64_t, 0x7ff8000000000000U>;

/// The upper half of an f32; rounded once, to nearest even. Overflow carries into infinity.
struct Bf16Element : F32Element {
  using Stored = std::uint16_t;
  static constexpr Folded widen(Stored v) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16);
  }
  static constexpr Stored narrow(Folded v) {
    const auto bits = std::bit_cast<std::uint32_t>(canonical(v));
    return static_cast<Stored>((bits + (0x7fffU + ((bits >> 16) & 1U))) >> 16);
  }
};

/// IEEE binary16. Subnormals are read by an exact subtraction, and rounded by adding 0.5, whose
/// last place is that of the smallest f16.
struct F16Element : F32Element {
  using Stored = std::uint16_t;
  static constexpr Folded widen(Stored v) {
    const std::uint32_t sign = (v & 0x8000U) << 16;
    const std::uint32_t magnitude = (v & 0x7fffU) << 13;
    const std::uint32_t exponent = magnitude & 0x0f800000U;
    std::uint32_t wide = magnitude + 0x38000000U;
    if (exponent == 0x0f800000U) wide = magnitude + 0x70000000U;
    if (exponent == 0) {
      constexpr std::uint32_t one = 0x38800000U;
      wide = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + one) -
                                          std::bit_cast<float>(one));
    }
    return std::bit_cast<float>(wide | sign);
  }
  static constexpr Stored narrow(Folded v) {
    const auto bits = std::bit_cast<std::uint32_t>(canonical(v));
    const std::uint32_t sign = bits & 0x80000000U;
    const std::uint32_t magnitude = bits ^ sign;
    std::uint32_t narrowed = (magnitude + (0xc8000fffU + ((magnitude >> 13) & 1U))) >> 13;
    if (magnitude < 0x38800000U) {
      narrowed = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
    }
    if (magnitude > 0x477fffffU) narrowed = 0x7c00U;
    if (magnitude > 0x7f800000U) narrowed = 0x7e00U;
    return static_cast<Stored>(narrowed | (sign >> 16));
  }
};

/// Folded without sign, so that overflow wraps; a divisor truncates toward zero.
template <class Integer, class Unsigned>
struct IntegralElement {
  using Stored = Unsigned;
  using Folded = Unsigned;
  using Ordered = Integer;
  using Divisor = int;

  static constexpr Divisor divisor(int n) { return n; }
  static constexpr Folded divide(Folded v, Divisor n) {
    return static_cast<Unsigned>(static_cast<Integer>(v) / n);
  }
  static constexpr Folded widen(Stored v) { return v; }
  static constexpr Stored narrow(Folded v) { return v; }
};
using I32Element = IntegralElement<std::int32_t, std::uint32_t>;
using I64Element = IntegralElement<std::int64_t, std::uint64_t>;
using U8Element = IntegralElement<std::uint8_t, std::uint8_t>;

struct SumOfElements {
  template <class Element>
  static constexpr auto apply(typename Element::Folded a, typename Element::Folded b) {
    return static_cast<typename Element::Folded>(a + b);
  }
};
struct ProductOfElements {
  template <class Element>
  static constexpr auto apply(typename Element::Folded a, typename Element::Folded b) {
    return static_cast<typename Element::Folded>(a * b);
  }
};
/// NaN propagates, and -0 is below +0.
template <bool greater>
struct ExtremeOfElements {
  template <class Element>
  static constexpr auto apply(typename Element::Folded a, typename Element::Folded b) {
    const auto x = static_cast<typename Element::Ordered>(a);
    const auto y = static_cast<typename Element::Ordered>(b);
    if constexpr (std::is_floating_point_v<typename Element::Ordered>) {
      if (x == 0 && y == 0) return greater ? a + b : -(-a - b);
    }
    const bool beyond = greater ? y > x : y < x;
    return beyond || y != y ? b : a;
  }
};

/// Calls visit.template operator()<Element, Op>() for a type and an operator; avg folds as sum.
template <class Visit>
void visit_element(DataType type, ReduceOp op, const Visit& visit) {
  const auto with = [&]<class Element>() {
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::avg:
        return visit.template operator()<Element, SumOfElements>();
      case ReduceOp::prod:
        return visit.template operator()<Element, ProductOfElements>();
      case ReduceOp::min:
        return visit.template operator()<Element, ExtremeOfElements<false>>();
      case ReduceOp::max:
        return visit.template operator()<Element, ExtremeOfElements<true>>();
    }
  };
  switch (type) {
    case DataType::f16:
      return with.template operator()<F16Element>();
    case DataType::bf16:
      return with.template operator()<Bf16Element>();
    case DataType::f32:
      return with.template operator()<F32Element>();
    case DataType::f64:
      return with.template operator()<F64Element>();
    case DataType::i32:
      return with.template operator()<I32Element>();
    case DataType::i64:
      return with.template operator()<I64Element>();
    case DataType::u8:
      return with.template operator()<U8Element>();
  }
}

}  // namespace collbench

#include "training/wire_type.h"

#include <bit>
#include <cassert>

namespace collbench {
namespace {

template <class T>
T* wire_elements(Region region) {
  return reinterpret_cast<T*>(region.data);
}

/// Both conversions are resolved outside of the loops.
template <class T, class Convert>
void narrow_all(Region from, Region to, Convert convert) {
  const T* in = wire_elements<T>(from);
  auto* out = wire_elements<std::uint16_t>(to);
  for (std::int64_t i = 0; i < from.count; ++i) out[i] = convert(static_cast<float>(in[i]));
}

template <class T, class Convert>
void widen_all(Region from, Region to, Convert convert) {
  const auto* in = wire_elements<std::uint16_t>(from);
  T* out = wire_elements<T>(to);
  for (std::int64_t i = 0; i < from.count; ++i) out[i] = convert(in[i]);
}

}  // namespace

std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00);   // not a number
  if (magnitude >= 0x477FF000) return static_cast<std::uint16_t>(sign | 0x7C00);  // rounds beyond
  if (magnitude < 0x38800000) {
    // Subnormal: the sum with 0.5 leaves the digits that remain, rounded by the processor.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000));
  }
  const std::uint32_t even = magnitude >> 13 & 1;
  return static_cast<std::uint16_t>(sign | ((magnitude + 0xFFF + even - (112U << 23)) >> 13));
}

std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float from_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7FFFU;
  if (magnitude >= 0x7C00) {
    return std::bit_cast<float>(sign | 0x7F800000 | (magnitude & 0x3FFU) << 13);
  }
  if (magnitude < 0x400) {
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
}

float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

void narrow(Region from, Region to) {
  assert(from.count == to.count);
  const auto convert = [&](auto rounding) {
    if (from.type == DataType::f32) return narrow_all<float>(from, to, rounding);
    narrow_all<double>(from, to, rounding);
  };
  if (to.type == DataType::f16) return convert([](float value) { return to_half(value); });
  convert([](float value) { return to_bfloat16(value); });
}

void widen(Region from, Region to) {
  assert(from.count == to.count);
  const auto convert = [&](auto widening) {
    if (to.type == DataType::f32) return widen_all<float>(from, to, widening);
    widen_all<double>(from, to, widening);
  };
  if (from.type == DataType::f16)
    return convert([](std::uint16_t bits) { return from_half(bits); });
  convert([](std::uint16_t bits) { return from_bfloat16(bits); });
}

}  // namespace collbench

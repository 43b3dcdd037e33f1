// Small exact numbers in every element type, for checking black boxes against plain arithmetic.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/data_type.h"
#include "transports/communicator.h"

namespace collbench {

/// Bits of binary16 for a value that it holds exactly and that is zero or normal.
inline std::uint16_t half_bits(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  const auto mantissa = static_cast<int>(std::ldexp(fraction, 11)) - 1024;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | ((exponent + 14) << 10) | mantissa);
}

/// The bytes of `count` elements whose i-th is value(i), converted to `type`.
template <class Value>
std::vector<std::byte> elements_of(DataType type, std::int64_t count, const Value& value) {
  const auto width = static_cast<std::size_t>(size_of(type));
  std::vector<std::byte> bytes(width * static_cast<std::size_t>(count));
  const auto fill = [&](const auto& converted) {
    std::byte* to = bytes.data();
    for (std::int64_t i = 0; i < count; ++i, to += width) {
      const auto element = converted(value(i));
      std::memcpy(to, &element, sizeof element);
    }
  };
  switch (type) {
    case DataType::f16:
      fill([](double v) { return half_bits(v); });
      break;
    case DataType::bf16:
      fill([](double v) {
        return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) >>
                                          16);
      });
      break;
    case DataType::f32:
      fill([](double v) { return static_cast<float>(v); });
      break;
    case DataType::f64:
      fill([](double v) { return v; });
      break;
    case DataType::i32:
      fill([](double v) { return static_cast<std::int32_t>(v); });
      break;
    case DataType::i64:
      fill([](double v) { return static_cast<std::int64_t>(v); });
      break;
    case DataType::u8:
      fill([](double v) { return static_cast<std::uint8_t>(v); });
      break;
  }
  return bytes;
}

/// What rank `rank` contributes at `i`: 1 to 3, so that sums and products of up to 5 ranks are
/// exact in every type.
inline double contribution(Rank rank, std::int64_t i) {
  return static_cast<double>((i + 2 * rank) % 3 + 1);
}

/// What a reduction gives at `i`, which has a period of three; for averages, of equal
/// contributions.
class Reduced {
 public:
  Reduced(ReduceOp op, int ranks) {
    for (std::int64_t i = 0; i < 3; ++i) {
      double& result = values_[static_cast<std::size_t>(i)] = contribution(0, i);
      for (Rank r = 1; r < ranks; ++r) result = combined(op, result, contribution(r, i));
    }
  }
  double operator()(std::int64_t i) const { return values_[static_cast<std::size_t>(i % 3)]; }

 private:
  static double combined(ReduceOp op, double a, double b) {
    switch (op) {
      case ReduceOp::sum:
        return a + b;
      case ReduceOp::prod:
        return a * b;
      case ReduceOp::min:
        return std::min(a, b);
      case ReduceOp::max:
        return std::max(a, b);
      case ReduceOp::avg:
        break;
    }
    return a;
  }

  std::array<double, 3> values_{};
};

/// Empty, or how an all-reduce of these elements differs from plain arithmetic. For averages every
/// rank contributes the same, so that they are whole.
inline std::string all_reduce_error(Communicator& communicator, DataType type, ReduceOp op,
                                    std::int64_t count, bool in_place) {
  const Rank giver = op == ReduceOp::avg ? 0 : communicator.rank();
  const std::vector<std::byte> input =
      elements_of(type, count, [&](std::int64_t i) { return contribution(giver, i); });
  std::vector<std::byte> in = input;
  std::vector<std::byte> out(in.size(), std::byte{0xee});
  std::vector<std::byte>& result = in_place ? in : out;
  communicator.all_reduce({in.data(), count, type}, {result.data(), count, type}, op);
  const std::string what = std::string(to_string(op)) + " of " + std::to_string(count) + " " +
                           std::string(to_string(type)) + (in_place ? " in place" : "");
  const Reduced right(op, communicator.ranks());
  if (result != elements_of(type, count, right)) return what + " is wrong";
  if (!in_place && in != input) return what + " changed its input";
  return "";
}

/// As all_reduce_error(), for any collective of a vector of so many elements.
inline std::string collective_error(Communicator& communicator, const Collective& collective,
                                    DataType type, ReduceOp op, std::int64_t count, bool in_place) {
  const int n = communicator.ranks();
  const Elements before = elements_before(collective, communicator.rank(), n, count);
  const Elements after = elements_after(collective, communicator.rank(), n, count);
  const Reduced reduced(op, n);
  Rank owner = collective.root;
  const auto right = [&](std::int64_t i) {  // in order
    const std::int64_t at = after.first + i;
    if (adds(collective.kind)) return reduced(at);
    if (collective.kind == CollectiveKind::all_gather) {
      while (share_start(owner + 1, n, count) <= at) ++owner;
    }
    return contribution(owner, at);
  };
  const bool same = adds(collective.kind) && op == ReduceOp::avg;
  const std::vector<std::byte> input = elements_of(
      type, count, [&](std::int64_t i) { return contribution(same ? 0 : communicator.rank(), i); });
  std::vector<std::byte> in = input;
  std::vector<std::byte> out(in.size(), std::byte{0xee});
  const Region from{in.data(), count, type};
  const Region to{in_place ? in.data() : out.data(), count, type};
  const Region result = to.part(after.first, after.count);
  communicator.perform(collective, from.part(before.first, before.count), result, op);
  const std::string what = std::string(to_string(collective.kind)) + ", " +
                           std::string(to_string(op)) + " of " + std::to_string(count) + " " +
                           std::string(to_string(type)) + (in_place ? " in place" : "");
  const std::vector<std::byte> found(result.data, result.data + result.size().count);
  if (found != elements_of(type, after.count, right)) return what + " is wrong";
  if (!in_place && in != input) return what + " changed its input";
  return "";
}

/// Of every kind, in place and out of place, for shares of any size.
inline std::string collective_errors(Communicator& communicator) {
  std::string errors;
  for (const std::string_view name : collective_names()) {
    const CollectiveKind kind = parse_collective(name);
    const Collective collective{kind, has_root(kind) ? communicator.ranks() - 1 : 0};
    for (const bool in_place : {true, false}) {
      for (const std::int64_t count : {1, 5, 60, 4097, 300001, 300060}) {
        const std::string error = collective_error(communicator, collective, DataType::f32,
                                                   ReduceOp::sum, count, in_place);
        if (!error.empty()) errors += error + "\n";
      }
      for (const ReduceOp op : all_reduce_ops()) {
        const std::string error =
            collective_error(communicator, collective, DataType::i32, op, 1000, in_place);
        if (!error.empty()) errors += error + "\n";
      }
    }
  }
  return errors;
}

}  // namespace collbench

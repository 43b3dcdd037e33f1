// Small exact numbers in every element type, for checking black boxes against plain arithmetic.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
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
inline std::vector<std::byte> elements_of(DataType type, std::int64_t count,
                                          const std::function<double(std::int64_t)>& value) {
  const auto width = static_cast<std::size_t>(size_of(type));
  std::vector<std::byte> bytes(width * static_cast<std::size_t>(count));
  const auto put = [&](std::int64_t i, auto element) {
    std::memcpy(bytes.data() + width * static_cast<std::size_t>(i), &element, sizeof(element));
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const double v = value(i);
    switch (type) {
      case DataType::f16:
        put(i, half_bits(v));
        break;
      case DataType::bf16:
        put(i,
            static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(v)) >> 16));
        break;
      case DataType::f32:
        put(i, static_cast<float>(v));
        break;
      case DataType::f64:
        put(i, v);
        break;
      case DataType::i32:
        put(i, static_cast<std::int32_t>(v));
        break;
      case DataType::i64:
        put(i, static_cast<std::int64_t>(v));
        break;
      case DataType::u8:
        put(i, static_cast<std::uint8_t>(v));
        break;
    }
  }
  return bytes;
}

/// What rank `rank` contributes at `i`: 1 to 3, so that sums and products of up to 5 ranks are
/// exact in every type.
inline double contribution(Rank rank, std::int64_t i) {
  return static_cast<double>((i + 2 * rank) % 3 + 1);
}

inline double expected(ReduceOp op, int ranks, std::int64_t i) {
  double result = contribution(0, i);
  for (Rank r = 1; r < ranks; ++r) {
    const double next = contribution(r, i);
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::avg:
        result += next;
        break;
      case ReduceOp::prod:
        result *= next;
        break;
      case ReduceOp::min:
        result = std::min(result, next);
        break;
      case ReduceOp::max:
        result = std::max(result, next);
        break;
    }
  }
  return result;
}

/// Empty, or how an all-reduce of these elements differs from plain arithmetic. For averages every
/// rank contributes the same, so that they are whole.
inline std::string all_reduce_error(Communicator& communicator, DataType type, ReduceOp op,
                                    std::int64_t count, bool in_place) {
  const int n = communicator.ranks();
  const auto mine = [&](std::int64_t i) {
    return op == ReduceOp::avg ? contribution(0, i) : contribution(communicator.rank(), i);
  };
  const auto right = [&](std::int64_t i) {
    return op == ReduceOp::avg ? contribution(0, i) : expected(op, n, i);
  };
  const std::vector<std::byte> input = elements_of(type, count, mine);
  std::vector<std::byte> in = input;
  std::vector<std::byte> out(in.size(), std::byte{0xee});
  std::vector<std::byte>& result = in_place ? in : out;
  communicator.all_reduce({in.data(), count, type}, {result.data(), count, type}, op);
  const std::string what = std::string(to_string(op)) + " of " + std::to_string(count) + " " +
                           std::string(to_string(type)) + (in_place ? " in place" : "");
  if (result != elements_of(type, count, right)) return what + " is wrong";
  if (!in_place && in != input) return what + " changed its input";
  return "";
}

/// The rank whose contribution a rank has at `i` where a collective copies.
inline Rank owner_of(const Collective& collective, int ranks, std::int64_t count, std::int64_t i) {
  Rank owner = collective.root;
  if (collective.kind != CollectiveKind::all_gather) return owner;
  while (share_start(owner + 1, ranks, count) <= i) ++owner;
  return owner;
}

/// As all_reduce_error(), for any collective of a vector of so many elements.
inline std::string collective_error(Communicator& communicator, const Collective& collective,
                                    DataType type, ReduceOp op, std::int64_t count, bool in_place) {
  const int n = communicator.ranks();
  const Elements before = elements_before(collective, communicator.rank(), n, count);
  const Elements after = elements_after(collective, communicator.rank(), n, count);
  const auto right = [&](std::int64_t i) {
    const std::int64_t at = after.first + i;
    if (!adds(collective.kind)) return contribution(owner_of(collective, n, count, at), at);
    return op == ReduceOp::avg ? contribution(0, at) : expected(op, n, at);
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

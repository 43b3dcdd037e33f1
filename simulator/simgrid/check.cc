#include "simulator/simgrid/check.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

// All whole numbers up to this one are exact in the type.
std::int64_t exact_limit(DataType type) {
  switch (type) {
    case DataType::f32:
      return 1 << 24;
    case DataType::f64:
    case DataType::i32:
    case DataType::i64:
      return (std::int64_t{1} << 31) - 1;
    default:
      return 255;
  }
}

// Source: Steele, Lea and Flood 2014, "SplitMix", the finaliser.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// Calls `body` with a value of the element's C++ type.
template <typename Body>
auto with_type(DataType type, const Body& body) {
  switch (type) {
    case DataType::f32:
      return body(float{});
    case DataType::f64:
      return body(double{});
    case DataType::i32:
      return body(std::int32_t{});
    case DataType::i64:
      return body(std::int64_t{});
    default:
      assert(type == DataType::u8);
      return body(std::uint8_t{});
  }
}

// The division that ends an average, as core/data_type.h defines it.
double average(DataType type, double sum, int ranks) {
  if (type == DataType::f64) return sum * (1.0 / ranks);
  if (type == DataType::f32) return static_cast<float>(sum) * (1.0F / static_cast<float>(ranks));
  return std::trunc(sum / ranks);
}

double combine(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::prod:
      return a * b;
    case ReduceOp::min:
      return std::min(a, b);
    case ReduceOp::max:
      return std::max(a, b);
    default:
      return a + b;
  }
}

}  // namespace

void require_exact_sums(DataType type, ReduceOp op, int ranks) {
  require(type != DataType::f16 && type != DataType::bf16,
          fmt::format("simgrid checks real data of f32, f64, i32, i64 and u8, not of {}",
                      to_string(type)));
  const bool adds = op == ReduceOp::sum || op == ReduceOp::avg;
  require(!adds || ranks <= exact_limit(type),
          fmt::format("a {} cannot hold an exact sum of {} ranks", to_string(type), ranks));
}

std::int64_t exact_contribution(DataType type, ReduceOp op, int ranks, Rank rank,
                                std::int64_t position) {
  const std::uint64_t bits =
      mix(mix(static_cast<std::uint64_t>(position)) + static_cast<std::uint64_t>(rank));
  if (op == ReduceOp::prod) {  // at most 7 ranks may contribute a two: 128 fits all types
    const int every = (ranks + 6) / 7;
    return rank % every == 0 && bits % 2 == 0 ? 2 : 1;
  }
  const bool adds = op == ReduceOp::sum || op == ReduceOp::avg;
  const std::int64_t largest = adds ? exact_limit(type) / ranks : exact_limit(type);
  return static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(largest + 1));
}

void fill_exact(Region region, ReduceOp op, int ranks, Rank rank) {
  with_type(region.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < region.count; ++i) {
      const auto value = static_cast<T>(exact_contribution(region.type, op, ranks, rank, i));
      std::memcpy(region.data + i * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
    }
  });
}

std::vector<double> exact_reduction(DataType type, ReduceOp op, int ranks, std::int64_t count) {
  std::vector<double> exact(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    auto value = static_cast<double>(exact_contribution(type, op, ranks, 0, i));
    for (Rank rank = 1; rank < ranks; ++rank) {
      value = combine(op, value, static_cast<double>(exact_contribution(type, op, ranks, rank, i)));
    }
    exact[static_cast<std::size_t>(i)] = op == ReduceOp::avg ? average(type, value, ranks) : value;
  }
  return exact;
}

std::int64_t count_inexact(Region region, const std::vector<double>& exact) {
  assert(region.count == static_cast<std::int64_t>(exact.size()));
  return with_type(region.type, [&](auto zero) {
    using T = decltype(zero);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < region.count; ++i) {
      T value;
      std::memcpy(&value, region.data + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
      wrong += static_cast<double>(value) == exact[static_cast<std::size_t>(i)] ? 0 : 1;
    }
    return wrong;
  });
}

}  // namespace collbench

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "transports/exact_check.h"
#include "transports/kernels/kernels.h"

namespace collbench {
namespace {

double decode(DataType type, const std::byte* element) {
  std::uint16_t half = 0;
  std::memcpy(&half, element, sizeof half <= static_cast<std::size_t>(size_of(type)) ? 2 : 1);
  switch (type) {
    case DataType::f16: {
      const int exponent = (half >> 10) & 31;
      const double fraction = (half & 1023) / 1024.0;
      const double size =
          exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
      return (half & 0x8000) != 0 ? -size : size;
    }
    case DataType::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
    case DataType::f32: {
      float value = 0;
      std::memcpy(&value, element, 4);
      return value;
    }
    case DataType::f64: {
      double value = 0;
      std::memcpy(&value, element, 8);
      return value;
    }
    case DataType::i32: {
      std::int32_t value = 0;
      std::memcpy(&value, element, 4);
      return value;
    }
    case DataType::i64: {
      std::int64_t value = 0;
      std::memcpy(&value, element, 8);
      return static_cast<double>(value);
    }
    case DataType::u8:
      return std::to_integer<int>(*element);
  }
  return 0;
}

double stored(DataType type, double value) {
  std::byte element[8] = {};
  encode(type, value, element);
  return decode(type, element);
}

double apply(ReduceOp op, double a, double b) {
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

double largest(DataType type) {
  switch (type) {
    case DataType::f16:
      return 65504;
    case DataType::bf16:
    case DataType::f32:
      return 0x1.fep127;
    case DataType::f64:
      return 0x1p1023;
    case DataType::i32:
      return 0x1p31 - 1;
    case DataType::i64:
      return 0x1p62;
    case DataType::u8:
      return 255;
  }
  return 0;
}

const std::vector<int> rank_counts = {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 200, 256, 300, 2100};

TEST(ExactInputTest, NoPartialResultRoundsOrOverflowsInAnyOrder) {
  std::mt19937 order_source(1);
  for (const DataType type : all_data_types()) {
    for (const ReduceOp op : all_reduce_ops()) {
      for (const int ranks : rank_counts) {
        std::vector<int> order(static_cast<std::size_t>(ranks));
        std::iota(order.begin(), order.end(), 0);
        for (std::int64_t position = 0; position < 40; ++position) {
          std::shuffle(order.begin(), order.end(), order_source);
          double fold = exact_input(type, op, ranks, order[0], position, 9);
          ASSERT_EQ(stored(type, fold), fold);
          for (std::size_t i = 1; i < order.size(); ++i) {
            const double input = exact_input(type, op, ranks, order[i], position, 9);
            ASSERT_EQ(stored(type, input), input);
            fold = apply(op, fold, input);
            ASSERT_LE(std::fabs(fold), largest(type));
            ASSERT_GE(fold, type == DataType::u8 ? 0.0 : -largest(type));
            ASSERT_EQ(stored(type, fold), fold)
                << to_string(type) << " " << to_string(op) << " of " << ranks << " ranks";
          }
          if (op == ReduceOp::avg) continue;
          ASSERT_EQ(exact_result(type, op, ranks, position, 9), fold);
        }
      }
    }
  }
}

TEST(ExactInputTest, ResultsAreThoseOfTheKernelsForEveryTypeAndOperator) {
  for (const DataType type : all_data_types()) {
    for (const ReduceOp op : all_reduce_ops()) {
      for (const int ranks : {1, 2, 3, 7, 16}) {
        constexpr std::int64_t count = 9001;
        const auto bytes = static_cast<std::size_t>(count * size_of(type));
        std::vector<std::vector<std::byte>> inputs(static_cast<std::size_t>(ranks),
                                                   std::vector<std::byte>(bytes));
        std::vector<const std::byte*> sources;
        for (int rank = 0; rank < ranks; ++rank) {
          auto& input = inputs[static_cast<std::size_t>(rank)];
          CheckInputs(type, op, ranks, rank, 4).fill({input.data(), count, type}, InputKind::exact);
          sources.push_back(input.data());
        }
        std::vector<std::byte> out(bytes);
        std::byte* destination = out.data();
        reduce(type, {op, op == ReduceOp::avg ? ranks : 1}, sources, std::span(&destination, 1),
               count);
        EXPECT_EQ(CheckInputs(type, op, ranks, 0, 4).count_wrong_results({out.data(), count, type}),
                  0)
            << to_string(type) << " " << to_string(op) << " of " << ranks << " ranks";
      }
    }
  }
}

TEST(ExactInputTest, RanksDiffer) {
  for (const DataType type : all_data_types()) {
    for (const ReduceOp op : all_reduce_ops()) {
      constexpr std::int64_t count = 1000;
      std::vector<std::byte> one(static_cast<std::size_t>(count * size_of(type)));
      std::vector<std::byte> other = one;
      CheckInputs(type, op, 64, 5, 1).fill({one.data(), count, type}, InputKind::exact);
      CheckInputs(type, op, 64, 6, 1).fill({other.data(), count, type}, InputKind::exact);
      EXPECT_NE(one, other) << to_string(type) << " " << to_string(op);
    }
  }
}

class CheckInputsTest : public testing::Test {
 protected:
  static constexpr std::int64_t count = 100'000;
  CheckInputsTest() : values_(count) {
    inputs_.fill(region(), InputKind::exact);  // with one rank the result is the input
  }
  Region region() { return {reinterpret_cast<std::byte*>(values_.data()), count, DataType::f32}; }
  const CheckInputs inputs_{DataType::f32, ReduceOp::sum, 1, 0, 3};
  std::vector<float> values_;
};

TEST_F(CheckInputsTest, CountsEveryWrongElement) {
  EXPECT_EQ(inputs_.count_wrong_results(region()), 0);
  values_[0] += 1;
  values_[4095] += 1;
  values_[77'777] += 1;
  values_[count - 1] += 1;
  EXPECT_EQ(inputs_.count_wrong_results(region()), 4);
  EXPECT_EQ(inputs_.count_changed_inputs(region()), 4);
}

TEST_F(CheckInputsTest, SeesChunksThatChangedPlaces) {
  for (const std::int64_t chunk : {16, 1024, 4096, 8192, 12'500}) {
    inputs_.fill(region(), InputKind::exact);
    std::swap_ranges(values_.begin(), values_.begin() + chunk, values_.begin() + 2 * chunk);
    EXPECT_GT(inputs_.count_wrong_results(region()), chunk) << "chunks of " << chunk;
  }
}

TEST_F(CheckInputsTest, HashSeesEveryBitAndItsPlace) {
  const std::uint64_t before = hash_bits(region());
  auto* bytes = reinterpret_cast<unsigned char*>(values_.data());
  for (const std::size_t at : {0UL, 31UL, 32UL, 4UL * count - 1UL}) {
    bytes[at] ^= 1;
    EXPECT_NE(hash_bits(region()), before);
    bytes[at] ^= 1;
  }
  std::swap(values_[8], values_[16]);  // the same lane of another step
  EXPECT_NE(hash_bits(region()), before);
  std::swap(values_[8], values_[16]);
  EXPECT_EQ(hash_bits(region()), before);
}

TEST(RoughInputTest, SumsDependOnTheOrderSoThatRanksCanDiffer) {
  constexpr std::int64_t count = 10'000;
  std::vector<std::vector<float>> of_rank(3, std::vector<float>(count));
  for (int rank = 0; rank < 3; ++rank) {
    auto& values = of_rank[static_cast<std::size_t>(rank)];
    CheckInputs(DataType::f32, ReduceOp::sum, 3, rank, 1)
        .fill({reinterpret_cast<std::byte*>(values.data()), count, DataType::f32},
              InputKind::rough);
  }
  int different = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float left = (of_rank[0][i] + of_rank[1][i]) + of_rank[2][i];
    const float right = of_rank[0][i] + (of_rank[1][i] + of_rank[2][i]);
    different += left != right ? 1 : 0;
  }
  EXPECT_GT(different, count / 20);
}

TEST(EncodeTest, RoundsHalfTypesToNearestEven) {
  std::byte element[2];
  const auto bits = [&](DataType type, double value) {
    encode(type, value, element);
    return std::bit_cast<std::uint16_t>(element);
  };
  EXPECT_EQ(bits(DataType::f16, 1.0), 0x3c00);
  EXPECT_EQ(bits(DataType::f16, -2.0), 0xc000);
  EXPECT_EQ(bits(DataType::f16, 65504), 0x7bff);
  EXPECT_EQ(bits(DataType::f16, 2049), 0x6800);  // halfway: down to the even 2048
  EXPECT_EQ(bits(DataType::f16, 2051), 0x6802);  // halfway: up to the even 2052
  EXPECT_EQ(bits(DataType::f16, 0x1p-14), 0x0400);
  EXPECT_EQ(bits(DataType::bf16, 1.0), 0x3f80);
  EXPECT_EQ(bits(DataType::bf16, 257), 0x4380);
  EXPECT_EQ(bits(DataType::bf16, 259), 0x4382);
  EXPECT_EQ(bits(DataType::bf16, 0), 0x0000);
}

}  // namespace
}  // namespace collbench

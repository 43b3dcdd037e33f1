// The exact inputs are exact whatever the order, and a wrong sum shows.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "core/error.h"
#include "simulator/simgrid/check.h"

namespace collbench {
namespace {

constexpr DataType checked_types[] = {DataType::f32, DataType::f64, DataType::i32, DataType::i64,
                                      DataType::u8};

TEST(SimgridCheckTest, HoldsEveryPartialResultExactly) {
  for (const DataType type : checked_types) {
    const double limit = type == DataType::u8 ? 255 : type == DataType::f32 ? 1 << 24 : 0x7fffffff;
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max}) {
      for (const int ranks : {1, 2, 9, 200}) {
        for (const double exact : exact_reduction(type, op, ranks, 300)) {
          EXPECT_GE(exact, 0);
          EXPECT_LE(exact, limit);
          EXPECT_EQ(exact, std::trunc(exact));
        }
      }
    }
  }
}

TEST(SimgridCheckTest, CountsWhatDiffers) {
  for (const DataType type : checked_types) {
    std::vector<std::byte> memory(static_cast<std::size_t>(100 * size_of(type)));
    const Region region{memory.data(), 100, type};
    fill_exact(region, ReduceOp::sum, 1, 0);
    const std::vector<double> exact = exact_reduction(type, ReduceOp::sum, 1, 100);
    EXPECT_EQ(count_inexact(region, exact), 0);
    memory[0] ^= std::byte{1};
    memory[memory.size() - static_cast<std::size_t>(size_of(type))] ^= std::byte{1};
    EXPECT_EQ(count_inexact(region, exact), 2);
  }
}

TEST(SimgridCheckTest, TellsRanksAndPositionsApart) {
  int equal_ranks = 0;
  int equal_positions = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto at = [&](Rank rank, std::int64_t position) {
      return exact_contribution(DataType::f32, ReduceOp::sum, 8, rank, position);
    };
    equal_ranks += at(i % 8, i) == at((i + 1) % 8, i);
    equal_positions += at(3, i) == at(3, i + 1);
  }
  EXPECT_LT(equal_ranks, 5);
  EXPECT_LT(equal_positions, 5);
}

TEST(SimgridCheckTest, RefusesWhatItCannotCheck) {
  EXPECT_THROW(require_exact_sums(DataType::f16, ReduceOp::sum, 2), InvalidArgument);
  EXPECT_THROW(require_exact_sums(DataType::u8, ReduceOp::sum, 256), InvalidArgument);
  EXPECT_NO_THROW(require_exact_sums(DataType::u8, ReduceOp::max, 256));
}

}  // namespace
}  // namespace collbench

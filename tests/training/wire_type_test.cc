#include "training/wire_type.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "training/elements.h"

namespace collbench {
namespace {

TEST(WireTypeTest, EveryHalfAndBfloat16SurvivesTheWayThereAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(from_half(half))) {
      EXPECT_EQ(to_half(from_half(half)), half);
    }
    if (!std::isnan(from_bfloat16(half))) {
      EXPECT_EQ(to_bfloat16(from_bfloat16(half)), half);
    }
  }
  EXPECT_TRUE(std::isnan(from_half(to_half(std::nanf("")))));
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(std::nanf("")))));
}

TEST(WireTypeTest, ValuesBetweenTwoHalvesGoToTheNearerAndTiesToTheEvenOne) {
  for (std::uint16_t low = 0; low < 0x7BFF; ++low) {
    const float a = from_half(low);
    const float b = from_half(static_cast<std::uint16_t>(low + 1));
    const float middle = (a + b) / 2;  // exact in f32
    const auto even = static_cast<std::uint16_t>(low % 2 == 0 ? low : low + 1);
    ASSERT_EQ(to_half(middle), even);
    ASSERT_EQ(to_half(std::nextafter(middle, a)), low);
    ASSERT_EQ(to_half(std::nextafter(middle, b)), low + 1);
    ASSERT_EQ(to_half(-middle), even | 0x8000);
  }
}

TEST(WireTypeTest, HalvesOverflowWhereBfloat16DoesNot) {
  EXPECT_EQ(from_half(to_half(65'504)), 65'504);
  EXPECT_TRUE(std::isinf(from_half(to_half(65'520))));
  EXPECT_EQ(from_bfloat16(to_bfloat16(65'536)), 65'536);
  EXPECT_TRUE(std::isinf(from_bfloat16(to_bfloat16(std::numeric_limits<float>::max()))));
}

TEST(WireTypeTest, RegionsAreNarrowedWidenedAndScaled) {
  std::vector<double> values = {1, -2.5, 0x1p-10};
  std::vector<std::uint16_t> wire(values.size());
  const Region wide{reinterpret_cast<std::byte*>(values.data()), 3, DataType::f64};
  const Region narrowed{reinterpret_cast<std::byte*>(wire.data()), 3, DataType::f16};
  narrow(wide, narrowed);
  scale(wide, 0.5);
  EXPECT_EQ(values, (std::vector<double>{0.5, -1.25, 0x1p-11}));
  widen(narrowed, wide);
  EXPECT_EQ(values, (std::vector<double>{1, -2.5, 0x1p-10}));
}

}  // namespace
}  // namespace collbench

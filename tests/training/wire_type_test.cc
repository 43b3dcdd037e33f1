#include "training/wire_type.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "training/elements.h"
#include "transports/kernels/elements.h"

namespace collbench {
namespace {

TEST(WireTypeTest, EveryHalfAndBfloat16SurvivesTheWayThereAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(F16Element::widen(half))) {
      EXPECT_EQ(F16Element::narrow(F16Element::widen(half)), half);
    }
    if (!std::isnan(Bf16Element::widen(half))) {
      EXPECT_EQ(Bf16Element::narrow(Bf16Element::widen(half)), half);
    }
  }
  EXPECT_TRUE(std::isnan(F16Element::widen(F16Element::narrow(std::nanf("")))));
  EXPECT_TRUE(std::isnan(Bf16Element::widen(Bf16Element::narrow(std::nanf("")))));
}

TEST(WireTypeTest, ValuesBetweenTwoHalvesGoToTheNearerAndTiesToTheEvenOne) {
  for (std::uint16_t low = 0; low < 0x7BFF; ++low) {
    const float a = F16Element::widen(low);
    const float b = F16Element::widen(static_cast<std::uint16_t>(low + 1));
    const float middle = (a + b) / 2;  // exact in f32
    const auto even = static_cast<std::uint16_t>(low % 2 == 0 ? low : low + 1);
    ASSERT_EQ(F16Element::narrow(middle), even);
    ASSERT_EQ(F16Element::narrow(std::nextafter(middle, a)), low);
    ASSERT_EQ(F16Element::narrow(std::nextafter(middle, b)), low + 1);
    ASSERT_EQ(F16Element::narrow(-middle), even | 0x8000);
  }
}

TEST(WireTypeTest, HalvesOverflowWhereBfloat16DoesNot) {
  EXPECT_EQ(F16Element::widen(F16Element::narrow(65'504)), 65'504);
  EXPECT_TRUE(std::isinf(F16Element::widen(F16Element::narrow(65'520))));
  EXPECT_EQ(Bf16Element::widen(Bf16Element::narrow(65'536)), 65'536);
  EXPECT_TRUE(
      std::isinf(Bf16Element::widen(Bf16Element::narrow(std::numeric_limits<float>::max()))));
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

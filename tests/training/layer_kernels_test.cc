#include "training/engines/layer_kernels.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

using Values = std::vector<float>;

/// Of both signs, no two alike.
Values numbers(std::int64_t count, int from) {
  Values values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(std::sin(static_cast<double>(i * 7 + from))));
  }
  return values;
}

/// To 1e-5 of the largest value, at least of 1.
auto about(const std::vector<double>& expected) {
  double largest = 1;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  return testing::Pointwise(testing::DoubleNear(1e-5 * largest), expected);
}
std::vector<double> wide(const Values& values) { return {values.begin(), values.end()}; }

/// visit(kernels, rows, channels) for every instruction set and for sizes around its registers.
void for_each_case(
    const std::function<void(const LayerKernels&, std::int64_t, std::int64_t)>& visit) {
  int number = 0;
  for (const LayerKernels& kernels : usable_layer_kernels()) {
    SCOPED_TRACE(number++);
    for (const std::int64_t rows : {1, 6, 1030}) {
      for (const std::int64_t channels : {1, 7, 16, 37}) {
        SCOPED_TRACE(testing::Message() << rows << " rows of " << channels);
        visit(kernels, rows, channels);
      }
    }
  }
}

TEST(LayerKernelsTest, ReluAndItsGradientKeepWhatIsAboveZero) {
  for_each_case([](const LayerKernels& kernels, std::int64_t rows, std::int64_t channels) {
    Values values = numbers(rows * channels, 1);
    Values slope = numbers(rows * channels, 2);
    std::vector<double> kept;
    std::vector<double> slope_kept;
    for (std::size_t i = 0; i < values.size(); ++i) {
      kept.push_back(values[i] > 0 ? static_cast<double>(values[i]) : 0);
      slope_kept.push_back(values[i] > 0 ? static_cast<double>(slope[i]) : 0);
    }
    kernels.relu(values.data(), rows * channels);
    EXPECT_EQ(wide(values), kept);
    kernels.mask(values.data(), slope.data(), rows * channels);
    EXPECT_EQ(wide(slope), slope_kept);
  });
}

TEST(LayerKernelsTest, SumsAreThoseOfColumns) {
  for_each_case([](const LayerKernels& kernels, std::int64_t rows, std::int64_t channels) {
    const Values in = numbers(rows * channels, 1);
    const Values shift = numbers(channels, 2);
    Values slope = numbers(rows * channels, 3);
    const Values out = numbers(rows * channels, 4);
    const auto size = static_cast<std::size_t>(2 * channels);
    std::vector<double> plain(size / 2);
    std::vector<double> moments(size);
    std::vector<double> slope_moments(size);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t c = i % (size / 2);
      const double value = static_cast<double>(in[i]) - static_cast<double>(shift[c]);
      const double masked = out[i] > 0 ? static_cast<double>(slope[i]) : 0;
      plain[c] += static_cast<double>(in[i]);
      moments[c] += value;
      moments[size / 2 + c] += value * value;
      slope_moments[c] += masked;
      slope_moments[size / 2 + c] += masked * value;
    }
    Values sums(size / 2);
    kernels.sum_rows(in.data(), sums.data(), rows, channels);
    EXPECT_THAT(wide(sums), about(plain));
    std::vector<double> found(size);
    kernels.moments(in.data(), shift.data(), found.data(), rows, channels);
    EXPECT_THAT(found, about(moments));
    kernels.slope_moments(in.data(), shift.data(), out.data(), slope.data(), found.data(), rows,
                          channels);
    EXPECT_THAT(found, about(slope_moments));
    kernels.slope_moments(in.data(), shift.data(), nullptr, slope.data(), found.data(), rows,
                          channels);
    EXPECT_THAT(found, about(slope_moments)) << "the slope was masked in place";
  });
}

TEST(LayerKernelsTest, NormalisationIsItsFormula) {
  for_each_case([](const LayerKernels& kernels, std::int64_t rows, std::int64_t channels) {
    const Values in = numbers(rows * channels, 1);
    const Values shortcut = numbers(rows * channels, 2);
    const Values a = numbers(channels, 3);
    const Values b = numbers(channels, 4);
    for (const bool relu : {false, true}) {
      for (const bool adds : {false, true}) {
        std::vector<double> expected;
        std::vector<double> slopes;
        for (std::size_t i = 0; i < in.size(); ++i) {
          const std::size_t c = i % a.size();
          const double value = static_cast<double>(in[i] * a[c] + b[c] + (adds ? shortcut[i] : 0));
          expected.push_back(relu && value <= 0 ? 0 : value);
          slopes.push_back(static_cast<double>(shortcut[i] * a[c] + in[i] * b[c] + a[c]));
        }
        Values out(in.size());
        kernels.normalise(in.data(), a.data(), b.data(), adds ? shortcut.data() : nullptr,
                          out.data(), rows, channels, relu);
        EXPECT_THAT(wide(out), about(expected));
        kernels.normalise_slope(in.data(), shortcut.data(), a.data(), b.data(), a.data(),
                                out.data(), rows, channels);
        EXPECT_THAT(wide(out), about(slopes));
      }
    }
  });
}

TEST(LayerKernelsTest, PoolingTakesTheLargestAndSendsItsGradientThere) {
  const PoolShape shape{2, 5, 4, 19};  // the fifth line belongs to no window
  const Values in = numbers(2 * 5 * 4 * 19, 1);
  const Values slope = numbers(2 * 2 * 2 * 19, 2);
  const auto at = [](std::int64_t sample, std::int64_t y, std::int64_t x, std::int64_t c) {
    return static_cast<std::size_t>(((sample * 5 + y) * 4 + x) * 19 + c);
  };
  for (const LayerKernels& kernels : usable_layer_kernels()) {
    for (const bool relu : {false, true}) {
      Values expected;
      Values expected_slope(in.size());
      for (std::int64_t i = 0; i < 2 * 2 * 2 * 19; ++i) {
        const std::int64_t c = i % 19;
        const std::int64_t x = i / 19 % 2 * 2;
        const std::int64_t y = i / 38 % 2 * 2;
        std::size_t best = at(i / 76, y, x, c);
        for (const std::size_t other :
             {at(i / 76, y, x + 1, c), at(i / 76, y + 1, x, c), at(i / 76, y + 1, x + 1, c)}) {
          if (in[other] > in[best]) best = other;
        }
        const bool cut = relu && in[best] <= 0;
        expected.push_back(cut ? 0 : in[best]);
        if (!cut) expected_slope[best] = slope[static_cast<std::size_t>(i)];
      }
      Values out(expected.size());
      std::vector<std::int32_t> winners(expected.size());
      kernels.pool(in.data(), out.data(), winners.data(), shape, relu);
      EXPECT_EQ(out, expected);
      Values in_slope(in.size(), 9);
      kernels.pool_slope(winners.data(), slope.data(), in_slope.data(), shape);
      EXPECT_EQ(in_slope, expected_slope);
    }
  }
}

/// What sharded training needs. It can fail in builds that vectorise: those of ./collbench.
TEST(LayerKernelsTest, AVectorUpdatedInTwoPartsHasTheBitsOfOneUpdatedWhole) {
  constexpr AdamRates<float> rates{1e-3F, 0.1F, 1e-3F, 1e-7F};
  const auto count = std::int64_t{1003};
  const Values slope = numbers(count, 1);
  for (const LayerKernels& kernels : usable_layer_kernels()) {
    for (std::int64_t cut = 1; cut < count; cut += 13) {
      Values mean = numbers(count, 2);
      Values square(slope.size(), 0.25F);
      Values weights = numbers(count, 3);
      Values parts[] = {mean, square, weights};
      kernels.adam(rates, slope.data(), mean.data(), square.data(), weights.data(), count);
      for (const auto& [first, last] : {std::pair{std::int64_t{0}, cut}, std::pair{cut, count}}) {
        kernels.adam(rates, slope.data() + first, parts[0].data() + first, parts[1].data() + first,
                     parts[2].data() + first, last - first);
      }
      ASSERT_EQ(parts[0], mean) << "cut at " << cut;
      ASSERT_EQ(parts[1], square) << "cut at " << cut;
      ASSERT_EQ(parts[2], weights) << "cut at " << cut;
    }
  }
}

}  // namespace
}  // namespace collbench

#include "transports/kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transports/kernels_oracle.h"

#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

using Bytes2D = std::vector<std::vector<std::byte>>;

constexpr std::byte guard{0xa5};
constexpr std::int64_t margin = 64;

/// Random elements: bit patterns of every kind (NaN, infinities, subnormals) and ordinary values.
std::vector<std::byte> random_elements(DataType type, std::int64_t count, std::uint64_t seed) {
  RandomEngine engine = random_engine(seed, "kernels");
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * size_of(type)));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t random = engine();
    const double small = static_cast<double>(static_cast<std::int64_t>(random >> 40) - (1 << 23));
    std::byte* to = bytes.data() + i * size_of(type);
    std::uint64_t bits = random;
    if (random % 8 >= 2) {
      const float f32 = static_cast<float>(small / 65536);
      const double f64 = small / 65536;
      if (type == DataType::f16) bits = encode(f32, f16_format);
      if (type == DataType::bf16) bits = encode(f32, bf16_format);
      if (type == DataType::f32) std::memcpy(&bits, &f32, sizeof f32);
      if (type == DataType::f64) std::memcpy(&bits, &f64, sizeof f64);
    } else if (random % 8 == 1) {
      bits = (random >> 32) % 2 << (8 * size_of(type) - 1);  // -0 and +0, or the smallest integer
    }
    std::memcpy(to, &bits, static_cast<std::size_t>(size_of(type)));
  }
  return bytes;
}

/// Byte offset of stream `index` from a cache line.
enum class ElementPlacement { aligned, shifted_alike, shifted_apart, odd };
std::int64_t offset_of(ElementPlacement placement, std::int64_t index, int element_bytes) {
  switch (placement) {
    case ElementPlacement::aligned:
      return 0;
    case ElementPlacement::shifted_alike:
      return 3 * element_bytes % margin;
    case ElementPlacement::shifted_apart:
      return (index * 5 + 1) * element_bytes % margin;
    case ElementPlacement::odd:
      return (index * 7 + 1) % margin;
  }
  return 0;
}

/// One array placed at an offset from a cache line between guard bytes, made anew for each call.
class Stream {
 public:
  /// Guards are whole again, also where the array was before.
  void place(std::int64_t offset, std::int64_t bytes) {
    std::fill_n(storage_.begin() + begin_, bytes_, guard);
    storage_.resize(std::max(storage_.size(), static_cast<std::size_t>(bytes + 4 * margin)), guard);
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    begin_ = margin + static_cast<std::int64_t>((margin - address % margin) % margin) + offset;
    bytes_ = bytes;
  }

  std::byte* data() { return storage_.data() + begin_; }
  void fill(const std::byte* from) { std::copy_n(from, bytes_, data()); }
  /// Of the cache line before the array and the one behind it.
  bool guards_intact() const {
    const auto begin = storage_.begin() + begin_;
    const auto intact = [](std::byte b) { return b == guard; };
    return std::all_of(begin - margin, begin, intact) &&
           std::all_of(begin + bytes_, begin + bytes_ + margin, intact);
  }

 private:
  std::vector<std::byte> storage_;
  std::int64_t bytes_ = 0;
  std::int64_t begin_ = 0;
};

/// One shape of a call. Destinations are `apart` from sources, or the same arrays, last first.
struct KernelShape {
  std::int64_t count;
  ElementPlacement placement;
  bool in_place;
};

std::vector<KernelShape> shapes_for(int sources) {
  std::vector<KernelShape> shapes;
  const std::vector<std::int64_t> counts{0,  1,  2,   3,   7,   8,   15,  16,   17,   31,
                                         33, 64, 100, 128, 129, 257, 513, 1024, 1025, 4200};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (int placement = 0; placement < 4; ++placement) {
      // Large counts meet one placement per number of sources, which go round.
      if (counts[i] > 1000 && (static_cast<int>(i) + sources) % 4 != placement) continue;
      shapes.push_back({counts[i], static_cast<ElementPlacement>(placement),
                        (static_cast<int>(i) + placement) % 2 == 0});
    }
  }
  return shapes;
}

/// Whether every destination of one call holds `expected` and nothing around it changed.
testing::AssertionResult reduces_to(const std::vector<std::byte>& expected, DataType type,
                                    Reduction reduction, const Bytes2D& inputs, int destinations,
                                    const KernelShape& shape, Stores stores,
                                    std::vector<Stream>& streams) {
  const std::int64_t bytes = shape.count * size_of(type);
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  const int sources = static_cast<int>(inputs.size());
  const int total = sources + destinations;
  streams.resize(std::max(streams.size(), static_cast<std::size_t>(total)));
  for (int i = 0; i < total; ++i) {
    streams[i].place(offset_of(shape.placement, i, size_of(type)), bytes);
  }
  for (int s = 0; s < sources; ++s) {
    streams[s].fill(inputs[s].data());
    from.push_back(streams[s].data());
  }
  for (int d = 0; d < destinations; ++d) {
    const bool shared = shape.in_place && d < sources;
    to.push_back(streams[shared ? sources - 1 - d : sources + d].data());
  }
  reduce(type, reduction, from, to, shape.count, stores);
  for (int d = 0; d < destinations; ++d) {
    if (bytes > 0 && std::memcmp(to[d], expected.data(), static_cast<std::size_t>(bytes)) != 0) {
      const auto at = std::mismatch(to[d], to[d] + bytes, expected.begin()).first - to[d];
      return testing::AssertionFailure()
             << "destination " << d << " differs first in element " << at / size_of(type);
    }
  }
  for (const Stream& stream : streams) {
    if (!stream.guards_intact()) return testing::AssertionFailure() << "wrote out of bounds";
  }
  return testing::AssertionSuccess();
}

/// Plays every shape of one (type, operator, sources, destinations) on every instruction set.
void check_shapes(DataType type, Reduction reduction, const Bytes2D& inputs, int destinations,
                  const std::vector<std::byte>& expected, std::vector<Stream>& streams) {
  const std::vector<KernelShape> shapes =
      shapes_for(static_cast<int>(inputs.size()) + destinations);
  for (std::string_view isa : usable_kernel_isas()) {
    set_kernel_isa(isa);
    for (const KernelShape& shape : shapes) {
      for (Stores stores : {Stores::cached, Stores::streaming}) {
        ASSERT_TRUE(
            reduces_to(expected, type, reduction, inputs, destinations, shape, stores, streams))
            << isa << " " << to_string(type) << " " << to_string(reduction.op) << " sources "
            << inputs.size() << " destinations " << destinations << " count " << shape.count
            << " placement " << static_cast<int>(shape.placement) << " in place " << shape.in_place
            << " stores " << static_cast<int>(stores);
      }
    }
  }
}

class Kernels : public testing::TestWithParam<DataType> {
 protected:
  void TearDown() override { set_kernel_isa(usable_kernel_isas().back()); }
};

TEST_P(Kernels, EqualAScalarFoldForEveryShapeAndInstructionSet) {
  const DataType type = GetParam();
  std::vector<Stream> streams;
  for (int sources : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 35}) {
    Bytes2D inputs;
    for (int s = 0; s < sources; ++s) {
      inputs.push_back(random_elements(type, 4200, static_cast<std::uint64_t>(100 * sources + s)));
    }
    for (ReduceOp op : all_reduce_ops()) {
      const Reduction reduction{op, op == ReduceOp::avg ? sources : 1};
      const auto expected = expected_fold(type, reduction, inputs, 4200);
      for (int destinations : {1, 2, 3, 4, 9, 17}) {
        check_shapes(type, reduction, inputs, destinations, expected, streams);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, Kernels,
                         testing::ValuesIn(all_data_types().begin(), all_data_types().end()),
                         [](const auto& type) { return std::string(to_string(type.param)); });

/// Sums of short floats whose exact value a double holds: one source's spread of exponents leaves
/// the fold in f32 exact, so the result must be the exact sum, rounded once.
void check_correct_rounding(DataType type, FloatFormat format, int exponents) {
  constexpr std::int64_t count = 20000;
  RandomEngine engine = random_engine(7, "rounding");
  for (int sources : {2, 3, 8}) {
    Bytes2D inputs(static_cast<std::size_t>(sources));
    std::vector<double> exact(count, 0.0);
    std::vector<const std::byte*> from;
    for (auto& input : inputs) {
      input.resize(2 * count);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint64_t random = engine();
        const int bias = (1 << (format.exponent_bits - 1)) - 1;
        const std::uint64_t exponent = bias + (random >> 32) % exponents;
        const std::uint64_t mantissa = random % (1U << format.mantissa_bits);
        const auto bits = static_cast<std::uint16_t>((random >> 63 << 15) |
                                                     (exponent << format.mantissa_bits) | mantissa);
        std::memcpy(input.data() + 2 * i, &bits, 2);
        exact[i] += decode(bits, format);
      }
      from.push_back(input.data());
    }
    std::vector<std::uint16_t> sums(count);
    std::byte* const to = reinterpret_cast<std::byte*>(sums.data());
    for (std::string_view isa : usable_kernel_isas()) {
      set_kernel_isa(isa);
      reduce(type, {ReduceOp::sum, 1}, from, {&to, 1}, count);
      for (std::int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(sums[i], encode(exact[i], format)) << isa << " element " << i;
      }
    }
  }
}

TEST(Kernels, SumOfF16IsCorrectlyRounded) { check_correct_rounding(DataType::f16, f16_format, 8); }
TEST(Kernels, SumOfBf16IsCorrectlyRounded) {
  check_correct_rounding(DataType::bf16, bf16_format, 12);
}

/// Every short float times factors that make ties, subnormals, overflow and NaN.
void check_products_of_every_value(DataType type, FloatFormat format) {
  constexpr std::int64_t count = 65536;
  const std::uint64_t one = encode(1.0, format);
  for (std::uint64_t factor : {one, one + 1, one - (one >> 4), one >> 1, one >> 3, one + (one >> 2),
                               std::uint64_t{1}, std::uint64_t{0x8003}}) {
    std::vector<std::uint16_t> values(count);
    std::vector<std::uint16_t> factors(count, static_cast<std::uint16_t>(factor));
    std::vector<std::uint16_t> products(count);
    for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(i);
    const std::byte* const from[] = {reinterpret_cast<const std::byte*>(values.data()),
                                     reinterpret_cast<const std::byte*>(factors.data())};
    std::byte* const to = reinterpret_cast<std::byte*>(products.data());
    for (std::string_view isa : usable_kernel_isas()) {
      set_kernel_isa(isa);
      reduce(type, {ReduceOp::prod, 1}, from, {&to, 1}, count);
      for (std::int64_t i = 0; i < count; ++i) {
        const float product =
            static_cast<float>(decode(values[i], format) * decode(factor, format));
        ASSERT_EQ(products[i], encode(product, format))
            << isa << " bits " << values[i] << " times " << factor;
      }
    }
  }
}

TEST(Kernels, EveryF16ProductRoundsToNearestEven) {
  check_products_of_every_value(DataType::f16, f16_format);
}
TEST(Kernels, EveryBf16ProductRoundsToNearestEven) {
  check_products_of_every_value(DataType::bf16, bf16_format);
}

template <class T>
T reduce_two(DataType type, Reduction reduction, T a, T b) {
  T result{};
  const std::byte* const from[] = {reinterpret_cast<const std::byte*>(&a),
                                   reinterpret_cast<const std::byte*>(&b)};
  std::byte* const to = reinterpret_cast<std::byte*>(&result);
  reduce(type, reduction, from, {&to, 1}, 1);
  return result;
}

TEST(Kernels, MinAndMaxPropagateNan) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    EXPECT_TRUE(std::isnan(reduce_two(DataType::f32, {op, 1}, nan, 1.0F)));
    EXPECT_TRUE(std::isnan(reduce_two(DataType::f32, {op, 1}, 1.0F, nan)));
  }
}

// Else a rank that adds its peer's vector to its own would end with other bits than the peer.
TEST(Kernels, MinusZeroIsBelowZeroInEitherOrder) {
  for (const auto& [first, second] : {std::pair{-0.0, 0.0}, std::pair{0.0, -0.0}}) {
    EXPECT_TRUE(std::signbit(reduce_two(DataType::f64, {ReduceOp::min, 1}, first, second)));
    EXPECT_FALSE(std::signbit(reduce_two(DataType::f64, {ReduceOp::max, 1}, first, second)));
  }
}

TEST(Kernels, IntegerAverageTruncatesTowardZero) {
  EXPECT_EQ(reduce_two<std::int32_t>(DataType::i32, {ReduceOp::avg, 2}, -4, -3), -3);
  EXPECT_EQ(reduce_two<std::int64_t>(DataType::i64, {ReduceOp::avg, 2}, -4, -3), -3);
  EXPECT_EQ(reduce_two<std::uint8_t>(DataType::u8, {ReduceOp::avg, 2}, 100, 55), 77);
}

TEST(Kernels, IntegersWrap) {
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(reduce_two<std::int32_t>(DataType::i32, {ReduceOp::sum, 1}, most, 1),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reduce_two<std::int32_t>(DataType::i32, {ReduceOp::prod, 1}, most, 2), -2);
  EXPECT_EQ(reduce_two<std::uint8_t>(DataType::u8, {ReduceOp::sum, 1}, 200, 100), 44);
}

TEST(Copy, CopiesEveryByteAndNoMoreForEveryAlignment) {
  const std::vector<std::byte> input = random_elements(DataType::u8, 5000, 3);
  Stream to;
  for (std::string_view isa : usable_kernel_isas()) {
    set_kernel_isa(isa);
    for (std::int64_t bytes : {0, 1, 63, 64, 65, 127, 128, 500, 4096, 4999}) {
      for (std::int64_t offset : {0, 1, 16, 63}) {
        for (Stores stores : {Stores::cached, Stores::streaming}) {
          to.place(offset, bytes);
          copy(to.data(), input.data() + 1, bytes, stores);
          EXPECT_TRUE(std::equal(to.data(), to.data() + bytes, input.begin() + 1));
          EXPECT_TRUE(to.guards_intact());
        }
      }
    }
  }
}

TEST(KernelIsa, RefusesAnUnknownOneAndNamesTheUsable) {
  try {
    set_kernel_isa("mmx");
    FAIL();
  } catch (const Unavailable& error) {
    EXPECT_NE(std::string(error.what()).find("mmx"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("baseline"), std::string::npos);
  }
}

TEST(KernelIsa, IsTheWidestUnlessSwitched) {
  for (std::string_view isa : usable_kernel_isas()) {
    set_kernel_isa(isa);
    EXPECT_EQ(kernel_isa(), isa);
  }
  EXPECT_EQ(usable_kernel_isas().front(), "baseline");
}

TEST(KernelIsaDeathTest, EnvironmentMayNameASmallerOne) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  ::setenv("COLLBENCH_ISA", "baseline", 1);
  EXPECT_EXIT(std::exit(kernel_isa() == "baseline" ? 0 : 1), testing::ExitedWithCode(0), "");
  ::unsetenv("COLLBENCH_ISA");
}

}  // namespace
}  // namespace collbench

#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "tests/transports/every_element.h"

#include "transports/kernels/elements.h"

namespace collbench {
namespace {

using Arrays = std::vector<std::vector<std::byte>>;

/// What a GPU would give, compiled for the CPU.
std::vector<std::byte> folded(DataType type, ReduceOp op, int divisor, const Arrays& sources) {
  std::vector<std::byte> result(sources[0].size());
  visit_element(type, op, [&]<class Element, class Op>() {
    using Stored = typename Element::Stored;
    for (std::size_t at = 0; at < result.size(); at += sizeof(Stored)) {
      const auto element = [&](std::size_t s) {
        Stored stored;
        std::memcpy(&stored, sources[s].data() + at, sizeof stored);
        return Element::widen(stored);
      };
      typename Element::Folded sum = element(0);
      for (std::size_t s = 1; s < sources.size(); ++s) {
        sum = Op::template apply<Element>(sum, element(s));
      }
      if (divisor != 1) sum = Element::divide(sum, Element::divisor(divisor));
      const Stored stored = Element::narrow(sum);
      std::memcpy(result.data() + at, &stored, sizeof stored);
    }
  });
  return result;
}

class CudaElements : public testing::TestWithParam<DataType> {};

TEST_P(CudaElements, FoldToTheBitsOfTheCpuKernels) {
  const DataType type = GetParam();
  for (const int count : {2, 3, 8, 17}) {
    Arrays sources;
    for (int s = 0; s < count; ++s) {
      sources.push_back(every_element(type, 20000, static_cast<std::uint64_t>(100 * count + s)));
    }
    for (const ReduceOp op : all_reduce_ops()) {
      const int divisor = op == ReduceOp::avg ? count : 1;
      EXPECT_EQ(folded(type, op, divisor, sources), reduced_by_cpu(type, op, divisor, sources))
          << to_string(op) << " of " << count;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, CudaElements,
                         testing::ValuesIn(all_data_types().begin(), all_data_types().end()),
                         [](const auto& type) { return std::string(to_string(type.param)); });

/// Every short float times factors that make ties, subnormals, overflow and NaN.
void check_every_value(DataType type, const std::vector<std::uint16_t>& factors) {
  constexpr std::size_t count = 65536;
  for (const std::uint16_t factor : factors) {
    Arrays sources(2, std::vector<std::byte>(2 * count));
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<std::uint16_t>(i);
      std::memcpy(sources[0].data() + 2 * i, &value, 2);
      std::memcpy(sources[1].data() + 2 * i, &factor, 2);
    }
    EXPECT_EQ(folded(type, ReduceOp::prod, 1, sources),
              reduced_by_cpu(type, ReduceOp::prod, 1, sources))
        << "factor " << factor;
  }
}

TEST(CudaElements, EveryF16IsReadAndRoundedAsOnTheCpu) {
  check_every_value(DataType::f16, {0x3c00, 0x3c01, 0x3bff, 0x1e00, 0x4d00, 0x0001, 0x8003});
}
TEST(CudaElements, EveryBf16IsReadAndRoundedAsOnTheCpu) {
  check_every_value(DataType::bf16, {0x3f80, 0x3f81, 0x3f7f, 0x1fc0, 0x5fa0, 0x0001, 0x8003});
}

}  // namespace
}  // namespace collbench

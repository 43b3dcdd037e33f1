#include "transports/kernels/memory_limit.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using namespace literals;

TEST(MemoryLimit, IsAPlausibleRateForAnyNumberOfThreads) {
  for (int threads : {1, 2, 5}) {
    const Bandwidth rate = measure_memory_bandwidth(threads, 256_KiB, Seconds(0.02));
    EXPECT_GT(rate.bytes_per_second, 1e6);
    EXPECT_LT(rate.bytes_per_second, 1e14);
  }
}

TEST(MemoryLimit, ACompletePassIsMadeWhateverTheBudget) {
  EXPECT_GT(measure_memory_bandwidth(2, 1_B, Seconds(1e-9)).bytes_per_second, 0);
}

TEST(MemoryLimit, RefusesArgumentsThatAreNotPositive) {
  EXPECT_THROW(measure_memory_bandwidth(0, 1_KiB, Seconds(1)), InvalidArgument);
  EXPECT_THROW(measure_memory_bandwidth(1, 0_B, Seconds(1)), InvalidArgument);
  EXPECT_THROW(measure_memory_bandwidth(1, 1_KiB, Seconds(0)), InvalidArgument);
}

}  // namespace
}  // namespace collbench

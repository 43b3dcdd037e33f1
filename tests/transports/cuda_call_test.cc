#include "transports/cuda/cuda_call.h"

#include <gtest/gtest.h>

#include "algorithms/registry.h"

namespace collbench {
namespace {

TEST(CudaSchedulesTest, AreChosenOnceAndNotKeptForEver) {
  int chosen = 0;
  CudaSchedules schedules(4, PlayedSchedules{[&chosen](Bytes, DataType) {
                            ++chosen;
                            return make_schedule("ring", 4);
                          }},
                          "ring");
  const auto ask = [&](std::int64_t count) {
    EXPECT_EQ(schedules.of({Collective{}, count, DataType::f32, ReduceOp::sum, true}).ranks(), 4);
  };
  ask(1);
  ask(1);
  EXPECT_EQ(chosen, 1);
  for (std::int64_t count = 2; count <= 1000; ++count) ask(count);
  EXPECT_EQ(chosen, 1000);
  ask(1000);
  EXPECT_EQ(chosen, 1000);
  ask(1);
  EXPECT_EQ(chosen, 1001) << "of a thousand the first is forgotten";
}

}  // namespace
}  // namespace collbench

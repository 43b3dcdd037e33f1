#include "transports/world/core_order.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(CoreOrderTest, ScatteringAlternatesPackagesAndTakesSecondThreadsLast) {
  // Two packages of two cores with two threads each, numbered as Linux does on such a server.
  const std::vector<CoreSite> sites = {{0, 0, 0}, {1, 0, 1}, {2, 1, 0}, {3, 1, 1},
                                       {4, 0, 0}, {5, 0, 1}, {6, 1, 0}, {7, 1, 1}};
  EXPECT_THAT(scattered(sites), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
}

TEST(CoreOrderTest, ScatteringKeepsEveryProcessorOnce) {
  EXPECT_THAT(scattered({}), IsEmpty());
  const std::vector<CoreSite> sites = {{3, 1, 5}, {9, 0, 2}, {4, 0, 7}};
  EXPECT_THAT(scattered(sites), ElementsAre(9, 3, 4));
}

TEST(CoreOrderTest, AThreadIsPinnedToItsPlaceInTheListRoundAndRound) {
  const auto usable = usable_core_sites();
  ASSERT_FALSE(usable.empty());
  const std::vector<int> list = {usable.back().cpu};
  int ran_on[2] = {-1, -1};
  std::thread([&] {
    pin_to_core(5, list);
    ran_on[0] = sched_getcpu();
    pin_to_core(static_cast<int>(usable.size()), {});
    ran_on[1] = sched_getcpu();
  }).join();
  EXPECT_EQ(ran_on[0], usable.back().cpu);
  EXPECT_EQ(ran_on[1], usable.front().cpu);
}

}  // namespace
}  // namespace collbench

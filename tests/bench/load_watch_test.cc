#include "bench/measure/load_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/records/environment.h"
#include "core/available_memory.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LoadWarningsTest, OurOwnLoadIsNoReasonToWarn) {
  const LoadReading after{.wall = 1, .busy = 1.9, .stolen = 0, .ours = 1.85};
  EXPECT_THAT(load_warnings({}, after, 2, 2), IsEmpty());
}

TEST(LoadWarningsTest, ForeignLoadIsSaidInPercentOfTheMachine) {
  const LoadReading after{.wall = 2, .busy = 4, .stolen = 0, .ours = 2.48};
  EXPECT_THAT(load_warnings({}, after, 2, 2),
              ElementsAre("foreign load: 38 % of the CPU time went to other processes"));
}

TEST(LoadWarningsTest, TicksTooCoarseForAShortCaseAreNotTakenForLoad) {
  const LoadReading after{.wall = 0.05, .busy = 0.1, .stolen = 0, .ours = 0.07};
  EXPECT_THAT(load_warnings({}, after, 2, 2), IsEmpty());
}

TEST(LoadWarningsTest, StealIsReported) {
  const LoadReading after{.wall = 1, .busy = 1, .stolen = 0.1, .ours = 1};
  EXPECT_THAT(load_warnings({}, after, 2, 2),
              ElementsAre("steal: the hypervisor took 5 % of the CPU time"));
}

TEST(LoadWarningsTest, PreemptionCountsOnlyWhereEveryRankHasACore) {
  const LoadReading after{
      .wall = 1, .busy = 2, .stolen = 0, .ours = 2, .involuntary_switches = 500};
  EXPECT_THAT(load_warnings({}, after, 2, 2), ElementsAre(HasSubstr("500 involuntary")));
  EXPECT_THAT(load_warnings({}, after, 2, 8), IsEmpty());
}

TEST(EnvironmentTest, HoldsEveryKeyWithAValue) {
  const Environment environment = collect_environment();
  for (const char* key :
       {"host", "cpu", "cores", "affinity", "cgroup_quota", "governor", "kernel", "compiler",
        "build_flags", "isa", "thp", "load", "steal", "git_revision", "version"}) {
    ASSERT_TRUE(environment.contains(key)) << key;
    EXPECT_FALSE(environment.at(key).empty()) << key;
  }
  EXPECT_GE(usable_cores(), 1);
  EXPECT_GT(available_memory().count, 0);
}

}  // namespace
}  // namespace collbench

#include "transports/faults/injected_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

using testing::HasSubstr;

std::string refusal_of_fault(const std::string& text) {
  return refusal([&] { parse_injected_faults(text); });
}

int hits(const InjectedFault& fault, int messages) {
  RandomEngine engine = random_engine(fault.seed, "test");
  int count = 0;
  for (int i = 0; i < messages; ++i) count += fault.applies_to(1, 2, i, engine) ? 1 : 0;
  return count;
}

TEST(InjectedFaultTest, EveryKeyIsRead) {
  const auto faults = parse_injected_faults(
      "delay:rank=3:to=1:message=5:every=2:time=10ms:seed=9,"
      "drop:chance=0.5%,kill:rank=0:early");
  ASSERT_EQ(faults.size(), 3U);
  EXPECT_EQ(faults[0].kind, InjectedFault::Kind::delay);
  EXPECT_EQ(faults[0].rank, 3);
  EXPECT_EQ(faults[0].to, 1);
  EXPECT_EQ(faults[0].message, 5);
  EXPECT_EQ(faults[0].every, 2);
  EXPECT_DOUBLE_EQ(faults[0].time.count(), 0.01);
  EXPECT_EQ(faults[0].seed, 9U);
  EXPECT_EQ(faults[1].rank, -1);
  EXPECT_DOUBLE_EQ(faults[1].chance, 0.005);
  EXPECT_TRUE(faults[2].early);
  EXPECT_TRUE(parse_injected_faults("").empty());
}

TEST(InjectedFaultTest, MistakesAreNamed) {
  EXPECT_THAT(refusal_of_fault("dorp"), HasSubstr("unknown fault 'dorp'. Did you mean 'drop'?"));
  EXPECT_THAT(refusal_of_fault("drop:rnk=1"), HasSubstr("unknown key 'rnk'. Did you mean 'rank'?"));
  EXPECT_THAT(refusal_of_fault("drop:rank=-1"), HasSubstr("rank must be a count"));
  EXPECT_THAT(refusal_of_fault("drop:rank=1:to=1"), HasSubstr("rank 1 sends no message to itself"));
  EXPECT_THAT(refusal_of_fault("drop:every=0"), HasSubstr("every must be 1 or more"));
  EXPECT_THAT(refusal_of_fault("drop:chance=2"), HasSubstr("chance must be above 0"));
  EXPECT_THAT(refusal_of_fault("drop:chance=%"), HasSubstr("chance must be above 0"));
  EXPECT_THAT(refusal_of_fault("delay"), HasSubstr("a delay needs time="));
  EXPECT_THAT(refusal_of_fault("drop:time=1s"), HasSubstr("nothing else has one"));
  EXPECT_THAT(refusal_of_fault("kill"), HasSubstr("kill needs rank="));
  EXPECT_THAT(refusal_of_fault("drop:early"), HasSubstr("early is for kill and stop"));
  EXPECT_THAT(refusal_of_fault("drop,"), HasSubstr("nothing follows the comma"));
}

TEST(InjectedFaultTest, ALateRankIsLateForItsAllReducesAndNoMessage) {
  const InjectedFault late = parse_injected_faults("late:rank=1:message=2:every=3:time=5ms")[0];
  EXPECT_EQ(hits(late, 100), 0);
  RandomEngine engine = random_engine(1, "test");
  int own = 0;
  int others = 0;
  for (int i = 0; i < 11; ++i) {
    own += late.delays_arrival(1, i, engine) ? 1 : 0;
    others += late.delays_arrival(0, i, engine) ? 1 : 0;
  }
  EXPECT_EQ(own, 3) << "2, 5 and 8";
  EXPECT_EQ(others, 0);
  EXPECT_FALSE(parse_injected_faults("delay:time=5ms")[0].delays_arrival(1, 0, engine));
  EXPECT_THAT(refusal_of_fault("late:rank=1"), HasSubstr("so does late"));
  EXPECT_THAT(refusal_of_fault("late:to=1:time=1ms"), HasSubstr("late has no receiver"));
}

TEST(InjectedFaultTest, BefallsTheMessagesItNames) {
  EXPECT_EQ(hits(parse_injected_faults("drop:message=7")[0], 100), 1);
  EXPECT_EQ(hits(parse_injected_faults("drop:message=7:every=10")[0], 100), 10);
  EXPECT_EQ(hits(parse_injected_faults("drop:rank=1:to=2")[0], 100), 1);
  EXPECT_EQ(hits(parse_injected_faults("drop:rank=2")[0], 100), 0);
  EXPECT_EQ(hits(parse_injected_faults("drop:to=1")[0], 100), 0);
}

TEST(InjectedFaultTest, ChancesComeFromTheSeed) {
  const InjectedFault fault = parse_injected_faults("drop:chance=10%:seed=3")[0];
  const int count = hits(fault, 10'000);
  EXPECT_GT(count, 800);
  EXPECT_LT(count, 1'200);
  EXPECT_EQ(hits(fault, 10'000), count);
  EXPECT_NE(hits(parse_injected_faults("drop:chance=10%:seed=4")[0], 10'000), count);
}

}  // namespace
}  // namespace collbench

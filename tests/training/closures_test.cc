#include "training/asynchronous/closures.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

const std::function<bool()> never = [] { return false; };
const std::function<bool()> at_once = [] { return true; };

ClosureResult result_of(std::int64_t step) { return {step, {1.0, 1}, 2, step, {}}; }

TEST(ClosuresTest, ALostClosureGoesToTheNextThatAsks) {
  Closures closures(0, 3, 3, 0, nullptr, {});
  EXPECT_EQ(closures.take(0, never), 0);
  EXPECT_EQ(closures.take(1, never), 1);
  closures.lost(0);
  EXPECT_EQ(closures.take(1, never), 0) << "that worker has lost the other one meanwhile";
  closures.done(1, result_of(0));
  EXPECT_EQ(closures.repeated(), 1);
}

TEST(ClosuresTest, ResultsOfClosuresThatWereTakenAwayDoNotCount) {
  Closures closures(0, 2, 2, 0, nullptr, {});
  closures.take(0, never);
  closures.lost(0);
  EXPECT_EQ(closures.take(1, never), 0);
  closures.done(0, result_of(0));
  closures.done(1, result_of(0));
  EXPECT_EQ(closures.take(1, never), 1);
  closures.done(1, result_of(1));
  ASSERT_EQ(closures.epochs().size(), 1U);
  EXPECT_EQ(closures.epochs()[0].samples, 4);
  EXPECT_EQ(closures.mean_staleness(), 0.5);
  EXPECT_EQ(closures.most_staleness(), 1);
}

TEST(ClosuresTest, PausesWhenExactlyTheFirstStepsAreDone) {
  Closures closures(0, 5, 5, 2, nullptr, {});
  closures.take(0, never);
  closures.take(1, never);
  closures.done(1, result_of(1));
  EXPECT_EQ(closures.take(1, at_once), std::nullopt) << "it waits, and its caller goes";
  EXPECT_EQ(closures.wait_for_pause(Seconds{0}), std::nullopt) << "step 0 is out";
  closures.done(0, result_of(0));
  EXPECT_EQ(closures.wait_for_pause(Seconds{0}), 2);
  EXPECT_FALSE(closures.finished());
  closures.go_on();
  EXPECT_EQ(closures.take(0, never), 2);
}

TEST(ClosuresTest, StoppingLetsThoseThatAreOutEnd) {
  Closures closures(0, 100, 100, 0, nullptr, {});
  closures.take(0, never);
  closures.stop();
  EXPECT_EQ(closures.wait_for_pause(Seconds{0}), std::nullopt);
  closures.done(0, result_of(0));
  EXPECT_EQ(closures.wait_for_pause(Seconds{0}), 1);
  EXPECT_TRUE(closures.finished());
  EXPECT_EQ(closures.take(0, never), std::nullopt);
  TrainingState state;
  closures.describe(state);
  EXPECT_EQ(state.step, 1);
  EXPECT_FALSE(state.finished);
}

TEST(ClosuresTest, AFailureReachesAll) {
  Closures closures(0, 2, 2, 0, nullptr, {});
  closures.fail("ps 1 was lost");
  closures.fail("and so on");
  for (const auto& ask : {std::function<void()>([&] { closures.take(0, never); }),
                          std::function<void()>([&] { closures.wait_for_pause(Seconds{1}); })}) {
    try {
      ask();
      FAIL();
    } catch (const TransportError& error) {
      EXPECT_STREQ(error.what(), "ps 1 was lost");
    }
  }
}

}  // namespace
}  // namespace collbench

#include "training/asynchronous/closures.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

const std::function<bool()> never = [] { return false; };
const std::function<bool()> at_once = [] { return true; };

ClosureResult result_of(std::int64_t step) { return {step, {1.0, 1}, 2, step, {}}; }

TEST(ClosuresTest, ACallerThatWasReplacedIsGivenNothingMore) {
  Closures closures(0, 2, 2, 1, nullptr, {});
  EXPECT_EQ(closures.take(1, never), 0);
  closures.done(1, result_of(0));
  EXPECT_EQ(closures.wait_for_pause(Seconds{0}), 1);
  closures.lost(1);
  closures.go_on();
  EXPECT_EQ(closures.take(1, never), std::nullopt);
  EXPECT_EQ(closures.take(2, never), 1) << "the one in its place";
}

TEST(ClosuresTest, ACallerThatAsksAgainGivesUpWhatItHas) {
  Closures closures(0, 2, 2, 0, nullptr, {});
  EXPECT_EQ(closures.take(1, never), 0);
  EXPECT_EQ(closures.take(1, never), 0);
  EXPECT_EQ(closures.take(2, never), 1);
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

// Workers take, end and are lost in a random order.
TEST(ClosuresTest, EveryStepIsDoneOnceWhateverWorkersAreLost) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    RandomEngine engine = random_engine(seed, "workers");
    const auto steps = static_cast<std::int64_t>(1 + engine() % 40);
    const auto pause = static_cast<std::int64_t>(engine() % 5);
    Closures closures(0, steps, steps, pause, nullptr, {});
    std::vector<CallerNumber> callers = {1, 2, 3, 4};
    std::map<CallerNumber, std::int64_t> out;
    std::multiset<std::int64_t> done;
    std::int64_t lost = 0;
    std::int64_t paused = 0;
    while (paused < steps) {
      const std::size_t worker = engine() % 4;
      const CallerNumber caller = callers[worker];
      if (!out.contains(caller)) {
        if (const auto step = closures.take(caller, [] { return true; })) out[caller] = *step;
      } else if (engine() % 3 == 0) {
        closures.lost(caller);
        out.erase(caller);
        callers[worker] += 4;  // it is back
        ++lost;
      } else {
        closures.done(caller, {out[caller], {1.0, 1}, 2, 0, {}});
        done.insert(out[caller]);
        out.erase(caller);
      }
      const auto now = closures.wait_for_pause(Seconds{0});
      if (!now) continue;
      EXPECT_TRUE(out.empty()) << "a pause while closures are out";
      EXPECT_EQ(std::ssize(done), *now) << "exactly the first steps are done";
      EXPECT_TRUE(*now == steps || (pause > 0 && *now % pause == 0)) << *now;
      paused = *now;
      if (paused < steps) closures.go_on();
    }
    EXPECT_TRUE(closures.finished());
    EXPECT_EQ(std::ssize(done), steps);
    EXPECT_EQ(std::set(done.begin(), done.end()).size(), done.size());
    EXPECT_EQ(*done.rbegin(), steps - 1);
    EXPECT_EQ(closures.repeated(), lost) << seed;
    ASSERT_EQ(closures.epochs().size(), 1U);
    EXPECT_EQ(closures.epochs()[0].samples, 2 * steps);
  }
}

}  // namespace
}  // namespace collbench

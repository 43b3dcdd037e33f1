#include "training/step.h"

#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"

namespace collbench {
namespace {

/// A step on a clock that only its own parts move, which notes what is called.
class NotedStep final : public StepCompute, public GradientSum {
 public:
  explicit NotedStep(std::uint64_t seed, int micro_batches = 1)
      : micro_batches_(micro_batches), random_(random_engine(seed, "step")) {}

  Seconds now() const override { return now_; }
  int micro_batches() const override { return micro_batches_; }
  void read() override { work("read"); }
  void forward() override { work("forward"); }
  void backward(const GradientsReady& ready) override {
    for (const std::int64_t end : {10, 30, 60}) {
      work("backward");
      if (ready) ready(end);
    }
  }
  void update() override { work("update"); }
  void check() override { work("check"); }

  void fetch() override { work("fetch"); }
  void start_up_to(std::int64_t end) override { calls.push_back("start " + std::to_string(end)); }
  Spent wait() override {
    work("wait");
    return {Seconds{5}, Seconds{3}};
  }

  std::vector<std::string> calls;
  std::vector<std::pair<std::string, Seconds>> spans;

  Seconds spent(const std::string& name) const {
    Seconds sum{0};
    for (const auto& [what, time] : spans) sum += what == name ? time : Seconds{0};
    return sum;
  }

 private:
  void work(const char* name) {
    const Seconds time{uniform(random_)};
    calls.emplace_back(name);
    spans.emplace_back(name, time);
    now_ += time;
  }

  int micro_batches_;
  RandomEngine random_;
  Seconds now_{1000};
};

TEST(StepTest, BucketsStartWhileTheBackwardPassGoesOn) {
  NotedStep step(1);
  run_step(step, step, 60, true);
  EXPECT_THAT(step.calls, testing::ElementsAre("read", "fetch", "forward", "backward", "start 10",
                                               "backward", "start 30", "backward", "start 60",
                                               "start 60", "wait", "update", "check"));
}

TEST(StepTest, WithoutOverlapNothingStartsBeforeTheBackwardPassIsOver) {
  NotedStep step(1);
  run_step(step, step, 60, false);
  EXPECT_THAT(step.calls, testing::ElementsAre("read", "fetch", "forward", "backward", "backward",
                                               "backward", "start 60", "wait", "update", "check"));
}

TEST(StepTest, OnlyTheLastMicroBatchReportsGradients) {
  NotedStep step(1, 3);
  run_step(step, step, 60, true);
  const auto first_start = std::find(step.calls.begin(), step.calls.end(), "start 10");
  EXPECT_EQ(std::count(step.calls.begin(), first_start, "forward"), 3);
  EXPECT_EQ(std::count(step.calls.begin(), step.calls.end(), "forward"), 3);
  EXPECT_EQ(std::count(step.calls.begin(), step.calls.end(), "backward"), 9);
  EXPECT_EQ(std::count(step.calls.begin(), step.calls.end(), "start 10"), 1);
}

TEST(StepTest, EveryPartOfTheTimeIsCountedOnce) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    NotedStep step(seed, 1 + static_cast<int>(seed % 3));
    const StepTimes times = run_step(step, step, 60, seed % 2 == 0);
    const auto near = [](Seconds expected) {
      return testing::ResultOf([](Seconds time) { return time.count(); },
                               testing::DoubleNear(expected.count(), 1e-9));
    };
    EXPECT_THAT(times.input, near(step.spent("read")));
    EXPECT_THAT(times.forward, near(step.spent("forward")));
    EXPECT_THAT(times.backward, near(step.spent("backward")));
    EXPECT_THAT(times.exposed, near(step.spent("fetch") + step.spent("wait")));
    EXPECT_THAT(times.communication, near(step.spent("fetch") + Seconds{5}));
    EXPECT_THAT(times.busy, near(Seconds{3}));
    EXPECT_THAT(times.optimizer, near(step.spent("update")));
    EXPECT_THAT(times.checks, near(step.spent("check")));
    EXPECT_THAT(times.whole, near(times.input + times.forward + times.backward + times.exposed +
                                  times.optimizer + times.checks));
    EXPECT_EQ(times.waiting.count(), 0);
  }
}

TEST(StepTest, WhatAPartThrowsEndsTheStep) {
  class Failing final : public GradientSum {
   public:
    void start_up_to(std::int64_t /*end*/) override {}
    Spent wait() override { throw std::runtime_error("a peer was lost"); }
  } failing;
  NotedStep step(1);
  EXPECT_THROW(run_step(step, failing, 60, true), std::runtime_error);
  EXPECT_THAT(step.calls, testing::Not(testing::Contains("update")));
}

}  // namespace
}  // namespace collbench

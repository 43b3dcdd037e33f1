#include "training/simulated_training.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/error.h"
#include "training/simulated_jitter.h"

namespace collbench {
namespace {

class SimulatedTrainingTest : public testing::Test {
 protected:
  SimulatedTrainingTest()
      : plan_(make_plan()),
        data_(synthetic_dataset(plan_.model.input, plan_.model.classes, 256, 1, "train")),
        held_out_(synthetic_dataset(plan_.model.input, plan_.model.classes, 64, 1, "test")) {}

  static TrainingPlan make_plan() {
    TrainingPlan plan;
    plan.model = make_model("mlp", {16});
    plan.optimizer = {"sgd", 0.1, 0};
    plan.engine = "plain";
    plan.type = DataType::f64;
    plan.global_batch = 32;
    plan.epochs = 2;
    return plan;
  }
  static SimulatedWorkers workers(int count) {
    SimulatedWorkers result;
    result.workers = count;
    result.compute = Seconds(10e-3);
    result.update = Seconds(1e-3);
    return result;
  }
  std::vector<LossPoint> serve(const SimulatedWorkers& which, double rate) {
    return train_simulated_server(plan_, which, 1, {Bandwidth{rate}, Seconds(1e-3)}, data_,
                                  held_out_, 8);
  }

  TrainingPlan plan_;
  Dataset data_;
  Dataset held_out_;
};

TEST_F(SimulatedTrainingTest, MirroredWorkersLearnAsOneWithTheSameGlobalBatch) {
  const auto one = train_simulated_mirrored(plan_, workers(1), Seconds(0), data_, held_out_, 8);
  const auto four = train_simulated_mirrored(plan_, workers(4), Seconds(0), data_, held_out_, 8);
  ASSERT_EQ(one.size(), four.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(one[i].held_out_loss, four[i].held_out_loss, 1e-10);
    EXPECT_EQ(four[i].staleness, 0);
  }
  EXPECT_LT(one.back().held_out_loss, one.front().held_out_loss);
}

TEST_F(SimulatedTrainingTest, AMirroredStepLastsAsLongAsItsSlowestWorkerAndTheAllReduce) {
  SimulatedWorkers four = workers(4);
  four.slow_workers = {{2, 3.0}};
  const auto points = train_simulated_mirrored(plan_, four, Seconds(5e-3), data_, held_out_, 4);
  EXPECT_EQ(points.back().updates, 16);
  EXPECT_NEAR(points.back().time.count(), 16 * (30e-3 + 5e-3 + 1e-3), 1e-12);
}

TEST_F(SimulatedTrainingTest, OneAsynchronousWorkerIsNeverStale) {
  const auto points = serve(workers(1), 1e9);
  for (const LossPoint& point : points) EXPECT_EQ(point.staleness, 0);
  const auto mirrored =
      train_simulated_mirrored(plan_, workers(1), Seconds(0), data_, held_out_, 8);
  EXPECT_NEAR(points.back().held_out_loss, mirrored.back().held_out_loss, 1e-12);
}

TEST_F(SimulatedTrainingTest, EqualAsynchronousWorkersAreAsStaleAsThereAreOthers) {
  const auto points = serve(workers(4), 1e9);
  EXPECT_NEAR(points.back().staleness, 3, 1e-12);
  EXPECT_EQ(points.back().updates, 64);
  EXPECT_EQ(points.back().samples, 512);
}

TEST_F(SimulatedTrainingTest, ASlowWorkerDoesNotHoldUpAsynchronousOnes) {
  SimulatedWorkers four = workers(4);
  const auto even = serve(four, 1e9);
  four.slow_workers = {{0, 10.0}};
  const auto uneven = serve(four, 1e9);
  const auto mirrored = train_simulated_mirrored(plan_, four, Seconds(0), data_, held_out_, 8);
  EXPECT_LT(uneven.back().time, even.back().time * 1.6);
  EXPECT_GT(mirrored.back().time, uneven.back().time * 3);
}

TEST_F(SimulatedTrainingTest, TheServersLinkLimitsHowFastGradientsArrive) {
  const auto bytes = static_cast<double>(parameters_of(plan_.model) * 8);
  const auto points = serve(workers(4), bytes / 20e-3);  // 20 ms a push, more than computing
  EXPECT_GE(points.back().time.count(), 64 * 20e-3);
}

TEST_F(SimulatedTrainingTest, EqualSeedsGiveEqualCurves) {
  SimulatedWorkers four = workers(4);
  four.jitter = 0.2;
  const auto first = serve(four, 1e9);
  const auto second = serve(four, 1e9);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].time, second[i].time);
    EXPECT_EQ(first[i].held_out_loss, second[i].held_out_loss);
  }
}

TEST_F(SimulatedTrainingTest, AServerWithoutALinkIsRefused) {
  EXPECT_THROW(serve(workers(2), 0), InvalidArgument);
}

TEST(SlownessTest, FactorsAreDrawnAroundOneAndTimesThoseOfSlowWorkers) {
  const Slowness slowness(3, 0.1, {{1, 2.0}}, 5);
  double logs = 0;
  for (int step = 0; step < 2000; ++step) {
    EXPECT_GT(slowness.of(0, step), 0.5);
    logs += std::log(slowness.of(1, step) / 2.0);
  }
  EXPECT_NEAR(logs / 2000, 0, 0.01);
  EXPECT_NE(slowness.of(0, 1), slowness.of(0, 2));
  EXPECT_EQ(Slowness(3, 0, {{1, 2.0}}, 5).of(1, 7), 2.0);
}

}  // namespace
}  // namespace collbench

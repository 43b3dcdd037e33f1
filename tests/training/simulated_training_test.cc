#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

#include "core/error.h"
#include "training/asynchronous/parameter_server.h"
#include "training/local_replica.h"
#include "training/mirrored.h"
#include "training/simulated/step.h"
#include "training/simulated/training.h"
#include "training/workloads/workload_profile.h"

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
  /// Layers of equal times, and one bucket.
  StepModel step_of(int count, Seconds all_reduce = Seconds(0)) const {
    StepModel step;
    step.workers = count;
    const Workload workload = workload_of(plan_.model);
    const Seconds part{10e-3 / static_cast<double>(3 * workload.layers.size())};
    step.compute.layers.assign(workload.layers.size(), {part, part, part});
    step.compute.optimizer = Seconds(1e-3);
    step.tensors = tensors_of(workload);
    step.buckets = {{0, parameters_of(plan_.model)}};
    step.all_reduce = {all_reduce};
    return step;
  }
  std::vector<LossPoint> mirror(const StepModel& step, int points = 8) {
    return train_simulated_mirrored(plan_, step, data_, held_out_, points);
  }
  std::vector<LossPoint> serve(const StepModel& step, double rate, int servers = 1) {
    return train_simulated_server(plan_, step, servers, {Bandwidth{rate}, Seconds(1e-3)}, data_,
                                  held_out_, 8);
  }
  void use_residual_model() {
    plan_.model = small_residual();
    data_ = data_for(plan_.model, 256);
    held_out_ = synthetic_dataset(plan_.model.input, plan_.model.classes, 150, 7, "test");
  }
  /// Of the statistics of a state that real training has saved last.
  double held_out_loss(const TrainingState& state) const {
    const auto network = make_network(plan_, plan_.global_batch);
    load(state, *network);
    return evaluate(*network, held_out_, plan_.global_batch).loss;
  }

  TrainingPlan plan_;
  Dataset data_;
  Dataset held_out_;
};

TEST_F(SimulatedTrainingTest, MirroredWorkersLearnAsOneWithTheSameGlobalBatch) {
  const auto one = mirror(step_of(1, Seconds(0)));
  const auto four = mirror(step_of(4, Seconds(0)));
  ASSERT_EQ(one.size(), four.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(one[i].held_out_loss, four[i].held_out_loss, 1e-10);
    EXPECT_EQ(four[i].staleness, 0);
  }
  EXPECT_LT(one.back().held_out_loss, one.front().held_out_loss);
}

TEST_F(SimulatedTrainingTest, ARaggedLastBatchIsTrainedOnAsForReal) {
  plan_.drop_remainder = false;
  data_ = synthetic_dataset(plan_.model.input, plan_.model.classes, 66, 1, "train");
  for (const LossScaling scaling : {LossScaling::exact, LossScaling::tensorflow}) {
    plan_.loss_scaling = scaling;
    const auto points = mirror(step_of(4), 99);  // steps of 32, 32 and 2 samples: 1, 1, 0 and 0
    ASSERT_EQ(points.size(), 7U);
    EXPECT_EQ(points[3].samples, 66);
    EXPECT_EQ(points.back().samples, 132);
    const auto real = train_mirrored(plan_, 4, "ring", data_, held_out_)[0];
    for (const std::size_t epoch : {0, 1}) {
      double loss = 0;
      for (std::size_t i = 3 * epoch + 1; i <= 3 * epoch + 3; ++i) {
        loss += points[i].loss * static_cast<double>(points[i].samples - points[i - 1].samples);
      }
      EXPECT_NEAR(loss / 66, real.epochs[epoch].loss, 1e-10);
    }
    EXPECT_NEAR(points.back().held_out_accuracy, real.held_out_accuracy, 1e-12);
  }
}

TEST_F(SimulatedTrainingTest, SimulatedWorkersReadTheFilesAsReplicasForRealDo) {
  data_.file_sizes = {128, 96, 32};
  const auto points = mirror(step_of(4), 16);
  ASSERT_EQ(points.size(), 17U);
  const auto real = train_mirrored(plan_, 4, "ring", data_, held_out_)[0];
  double loss = 0;
  for (std::size_t i = 1; i <= 8; ++i) loss += points[i].loss / 8;
  EXPECT_NEAR(loss, real.epochs[0].loss, 1e-10);
}

TEST_F(SimulatedTrainingTest, StatisticsMoveOnceAStepOnEachWorkerAndTheirMeanIsEvaluated) {
  use_residual_model();
  plan_.save_every = 16;  // the last step: until then replicas keep statistics of their own
  TrainingState saved;
  ReplicaHooks hooks;
  hooks.save = [&](const TrainingState& state) { saved = state; };
  const auto real = train_mirrored(plan_, 4, "ring", data_, held_out_, hooks)[0];
  const auto points = mirror(step_of(4));
  EXPECT_NEAR(points.back().held_out_loss, held_out_loss(saved), 1e-10);
  EXPECT_NEAR(points.back().held_out_accuracy, real.held_out_accuracy, 1e-12);
}

TEST_F(SimulatedTrainingTest, TheStatisticsOfServersAreThoseOfServersForReal) {
  use_residual_model();
  TrainingState saved;
  ReplicaHooks hooks;
  hooks.save = [&](const TrainingState& state) { saved = state; };
  train_parameter_server(plan_, 1, 2, data_, {}, hooks);
  EXPECT_NEAR(serve(step_of(1), 1e9).back().held_out_loss, held_out_loss(saved), 1e-10);
}

TEST_F(SimulatedTrainingTest, AMirroredStepLastsAsLongAsItsSlowestWorkerAndTheAllReduce) {
  StepModel four = step_of(4, Seconds(5e-3));
  four.costs.slow_workers = {{2, 3.0}};
  four.overlap = false;
  const auto points = mirror(four, 4);
  EXPECT_EQ(points.back().updates, 16);
  EXPECT_NEAR(points.back().time.count(), 16 * (30e-3 + 5e-3 + 3e-3), 1e-12);
}

TEST_F(SimulatedTrainingTest, BucketsBesideTheBackwardPassShortenStepsAndChangeNoLoss) {
  StepModel step = step_of(4, Seconds(0));
  const Tensor& kernel = step.tensors[1];  // of the last layer, whose gradients are ready first
  const std::int64_t early = kernel.first + kernel.count;
  step.buckets = {{0, early}, {early, parameters_of(plan_.model) - early}};
  step.all_reduce = {Seconds(1e-3), Seconds(2e-3)};
  const auto overlapped = mirror(step);
  step.overlap = false;
  const auto apart = mirror(step);
  ASSERT_EQ(overlapped.size(), apart.size());
  for (std::size_t i = 0; i < apart.size(); ++i) {
    EXPECT_EQ(overlapped[i].held_out_loss, apart[i].held_out_loss);
  }
  // The first bucket is hidden, and of the second what the input's gradient of the first layer
  // takes: a sixth of the computation.
  EXPECT_NEAR(apart.back().time.count(), 16 * 14e-3, 1e-12);
  EXPECT_NEAR(overlapped.back().time.count(), 16 * (13e-3 - 10e-3 / 6), 1e-12);
}

TEST_F(SimulatedTrainingTest, OneAsynchronousWorkerIsNeverStale) {
  const auto points = serve(step_of(1), 1e9);
  for (const LossPoint& point : points) EXPECT_EQ(point.staleness, 0);
  const auto mirrored = mirror(step_of(1, Seconds(0)));
  EXPECT_NEAR(points.back().held_out_loss, mirrored.back().held_out_loss, 1e-12);
}

TEST_F(SimulatedTrainingTest, EqualAsynchronousWorkersAreAsStaleAsThereAreOthers) {
  const auto points = serve(step_of(4), 1e9);
  EXPECT_NEAR(points.back().staleness, 3, 1e-12);
  EXPECT_EQ(points.back().updates, 16) << "each of a whole batch, as with servers for real";
  EXPECT_EQ(points.back().samples, 512);
}

TEST_F(SimulatedTrainingTest, ASlowWorkerDoesNotHoldUpAsynchronousOnes) {
  plan_.epochs = 8;
  StepModel four = step_of(4);
  const auto even = serve(four, 1e9);
  four.costs.slow_workers = {{0, 10.0}};
  const auto uneven = serve(four, 1e9);
  StepModel together = step_of(4, Seconds(0));
  together.costs.slow_workers = four.costs.slow_workers;
  const auto mirrored = mirror(together);
  EXPECT_LT(uneven.back().time, even.back().time * 1.6);
  EXPECT_GT(mirrored.back().time, uneven.back().time * 3);
}

TEST_F(SimulatedTrainingTest, TheServersLinkLimitsHowFastGradientsArrive) {
  const auto bytes = static_cast<double>(parameters_of(plan_.model) * 8);
  const auto points = serve(step_of(4), bytes / 20e-3);  // 20 ms a push, more than computing
  EXPECT_GE(points.back().time.count(), 16 * 20e-3);
}

TEST_F(SimulatedTrainingTest, ManyServersMakeNoWorkerFasterThanItsOwnLink) {
  const auto bytes = static_cast<double>(parameters_of(plan_.model) * 8);
  StepModel step = step_of(1);
  step.compute.optimizer = Seconds{0};
  const double rate = bytes / 20e-3;
  const Seconds alone = serve(step, rate, 1).back().time;
  EXPECT_NEAR(alone.count(), 16 * (2 * (20e-3 + 1e-3) + 10e-3), 1e-12);
  EXPECT_NEAR(serve(step, rate, 8).back().time.count(), alone.count(), 1e-12);
  step.workers = 4;  // four times, whose links are there for 4 of the 16 steps each
  EXPECT_NEAR(serve(step, rate, 8).back().time.count(), alone.count() / 4, 1e-12);
  EXPECT_GT(serve(step, rate, 1).back().time.count(), 16 * 20e-3);
}

TEST_F(SimulatedTrainingTest, ServersUpdateTheirSharesSideBySide) {
  StepModel step = step_of(8);
  step.compute.optimizer = Seconds(80e-3);  // the bottleneck
  const double one = serve(step, 1e12, 1).back().time.count();
  EXPECT_NEAR(one, 16 * 80e-3, 20e-3);
  EXPECT_NEAR(serve(step, 1e12, 8).back().time.count(), one / 8, 20e-3);
}

TEST_F(SimulatedTrainingTest, EqualSeedsGiveEqualCurves) {
  StepModel four = step_of(4);
  four.costs.jitter = 0.2;
  const auto first = serve(four, 1e9);
  const auto second = serve(four, 1e9);
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].time, second[i].time);
    EXPECT_EQ(first[i].held_out_loss, second[i].held_out_loss);
  }
}

TEST_F(SimulatedTrainingTest, APlanThatDoesNotFitItsDataIsRefused) {
  data_ = synthetic_dataset({4, 4, 1}, plan_.model.classes, 256, 1, "other samples");
  EXPECT_THAT([&] { serve(step_of(2), 1e9); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("4x4x1")));
  EXPECT_THAT([&] { mirror(step_of(2, Seconds(0))); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("4x4x1")));
}

TEST_F(SimulatedTrainingTest, AServerWithoutALinkIsRefused) {
  EXPECT_THROW(serve(step_of(2), 0), InvalidArgument);
}

}  // namespace
}  // namespace collbench

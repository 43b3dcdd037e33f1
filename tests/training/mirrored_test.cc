#include "training/mirrored.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/lone_communicator.h"
#include "tests/training/small_models.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "training/engines/engine.h"

namespace collbench {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using testing::ThrowsMessage;

TrainingPlan mirrored_plan(const Model& model, DataType type) {
  TrainingPlan plan;
  plan.model = model;
  plan.optimizer = {model.optimizer, model.learning_rate, 0};
  plan.type = type;
  plan.global_batch = 24;
  plan.epochs = 2;
  plan.steps = 4;
  plan.buckets = "1K";
  return plan;
}

ReplicaHooks observed(std::function<void(const Progress&)> on_step) {
  ReplicaHooks hooks;
  hooks.on_step = std::move(on_step);
  return hooks;
}

std::vector<double> trained(const TrainingPlan& plan, int replicas,
                            const std::string& algorithm = "ring") {
  const Dataset data = data_for(plan.model, 60);
  const auto reports = train_mirrored(plan, replicas, algorithm, data, {});
  for (const ReplicaReport& report : reports) {
    EXPECT_EQ(report.parameters, reports[0].parameters) << "replicas are equal to the bit";
    EXPECT_EQ(report.steps.size(), static_cast<std::size_t>(plan.epochs * plan.steps));
  }
  return reports[0].parameters;
}

TEST(MirroredTest, AnyNumberOfReplicasTrainsWhatOneDoes) {
  for (const char* optimizer : {"sgd", "adam"}) {
    for (const auto& [type, tolerance] :
         {std::pair{DataType::f64, 1e-10}, std::pair{DataType::f32, 1e-5}}) {
      for (const ComputeEngine& engine : engines()) {
        if (!engine.computes_in(type)) continue;
        TrainingPlan plan = mirrored_plan(every_layer(), type);
        plan.engine = engine.name;
        plan.optimizer = {optimizer, optimizer[0] == 's' ? 0.1 : 0.01, 0};
        const std::vector<double> alone = trained(plan, 1);
        EXPECT_NE(alone, initial_parameters(plan.model, plan.seed));
        for (const int replicas : {2, 3, 4}) {
          EXPECT_THAT(trained(plan, replicas), Pointwise(DoubleNear(tolerance), alone))
              << optimizer << " " << to_string(type) << " " << replicas << " " << engine.name;
        }
      }
    }
  }
}

// Ranks that wait behind it for the others' figures would take them for lost.
TEST(MirroredTest, ReplicasMeetWhileOneEvaluatesForLong) {
  TrainingPlan plan = mirrored_plan(make_model("resnet20"), DataType::f32);
  plan.engine = "plain";
  plan.global_batch = 1;
  plan.epochs = 1;
  plan.steps = 1;
  const auto meetings = [&](std::int64_t held_out) {
    LoneCommunicator alone;
    train_replica(plan, data_for(plan.model, 1), data_for(plan.model, held_out), alone, {});
    return std::ranges::count(alone.calls, 'x');
  };
  EXPECT_GT(meetings(80), meetings(1));
}

TEST(MirroredTest, TheMomentumOfReplicasIsThatOfOne) {
  TrainingPlan plan = mirrored_plan(make_model("dense2"), DataType::f64);
  plan.optimizer.momentum = 0.9;
  EXPECT_THAT(trained(plan, 4), Pointwise(DoubleNear(1e-12), trained(plan, 1)));
}

TEST(MirroredTest, OverlapAndBucketsChangeNoBit) {
  TrainingPlan plan = mirrored_plan(every_layer(), DataType::f32);
  const std::vector<double> overlapped = trained(plan, 2);
  plan.overlap = false;
  EXPECT_EQ(trained(plan, 2), overlapped);
  // Two replicas: each sum has two terms, whose order does not matter.
  plan.overlap = true;
  for (const char* rule : {"one", "tensor", "tf", "tf:300", "ddp-initial"}) {
    plan.buckets = rule;
    EXPECT_EQ(trained(plan, 2), overlapped) << rule;
  }
}

TEST(MirroredTest, EveryConsistentAlgorithmTrainsTheSame) {
  const TrainingPlan plan = mirrored_plan(every_layer(), DataType::f64);
  const std::vector<double> ring = trained(plan, 4);
  for (const char* algorithm : {"recursive-doubling", "direct"}) {
    EXPECT_THAT(trained(plan, 4, algorithm), Pointwise(DoubleNear(1e-10), ring)) << algorithm;
  }
}

TEST(MirroredTest, TheLossFallsAndHeldOutSamplesAreRecognised) {
  for (const char* name : {"mlp", "dense2"}) {
    const Model model = make_model(name);
    TrainingPlan plan = mirrored_plan(model, DataType::f32);
    plan.global_batch = 32;
    plan.steps = 25;
    const Dataset data = data_for(model, 640);
    const Dataset test = synthetic_dataset(model.input, model.classes, 200, 7, "test");
    std::int64_t last = 0;
    const auto reports = train_mirrored(plan, 2, "ring", data, test,
                                        observed([&](const Progress& now) { last = now.steps; }));
    EXPECT_EQ(last, 50);
    ASSERT_EQ(reports[0].epochs.size(), 2U);
    EXPECT_LT(reports[0].epochs[1].loss, 0.9 * reports[0].epochs[0].loss) << name;
    EXPECT_EQ(reports[1].epochs[1].loss, reports[0].epochs[1].loss) << "all know the global loss";
    EXPECT_GT(reports[0].held_out_accuracy, 0.85) << name;
  }
}

TEST(MirroredTest, TheTutorialsConvolutionsLearnAsMuchOnAnyNumberOfReplicas) {
  TrainingPlan plan = mirrored_plan(make_model("mnist-cnn"), DataType::f32);
  plan.epochs = 1;
  plan.steps = 40;
  const Dataset data = data_for(plan.model, 480);
  const Dataset test = synthetic_dataset(plan.model.input, 10, 200, 7, "test");
  const auto alone = train_mirrored(plan, 1, "ring", data, test);
  EXPECT_GT(alone[0].held_out_accuracy, 0.97);
  for (const int replicas : {2, 4, 8}) {
    const auto reports = train_mirrored(plan, replicas, "ring", data, test);
    EXPECT_GT(reports[0].held_out_accuracy, 0.97) << replicas;
    EXPECT_NEAR(reports[0].epochs[0].loss, alone[0].epochs[0].loss, 1e-5) << replicas;
  }
}

TEST(MirroredTest, ResidualNetworksLearnAndAverageTheirStatistics) {
  TrainingPlan plan = mirrored_plan(small_residual(), DataType::f32);
  plan.epochs = 1;
  plan.steps = 300;  // the moving averages forget their start by 0.99 in each
  const auto reports = train_mirrored(plan, 2, "ring", data_for(plan.model, 480),
                                      synthetic_dataset(plan.model.input, 3, 150, 7, "test"));
  EXPECT_EQ(reports[0].parameters, reports[1].parameters);
  EXPECT_GT(reports[0].held_out_accuracy, 0.9);
}

TEST(MirroredTest, TimesAreWithinTheStep) {
  TrainingPlan plan = mirrored_plan(every_layer(), DataType::f32);
  const auto reports = train_mirrored(plan, 2, "ring", data_for(plan.model, 60), {});
  ASSERT_FALSE(reports[1].steps.empty());
  for (const StepTimes& times : reports[1].steps) {
    const Seconds parts = times.input + times.forward + times.backward + times.exposed +
                          times.optimizer + times.checks;
    EXPECT_NEAR(parts.count(), times.whole.count(), 1e-9);
    EXPECT_GT(times.communication.count(), 0);
  }
}

TEST(MirroredTest, RefusesPlansThatDoNotFit) {
  const TrainingPlan plan = mirrored_plan(every_layer(), DataType::f32);
  const Dataset data = data_for(plan.model, 60);
  EXPECT_THAT([&] { train_mirrored(plan, 5, "ring", data, {}); },
              ThrowsMessage<InvalidArgument>(HasSubstr(
                  "The `global_batch_size` 24 is not divisible by `num_replicas_in_sync` 5")));
  EXPECT_THAT([&] { train_mirrored(plan, 2, "rng", data, {}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("Did you mean 'ring'?")));
}

TEST(MirroredTest, RefusesModelsThatDoNotFitTheMemory) {
  const TrainingPlan plan = mirrored_plan(make_model("mlp", {1 << 20, 1 << 20}), DataType::f32);
  // 2^40 weights between the hidden layers, 16 bytes for each: 16 TiB for each replica.
  EXPECT_GT(least_memory(plan, 2), Bytes{std::int64_t{1} << 45});
  EXPECT_THAT([&] { train_mirrored(plan, 2, "ring", data_for(plan.model, 24), {}); },
              ThrowsMessage<TransportError>(HasSubstr("2 replicas of mlp need at least 32 TiB")));
}

TEST(MirroredTest, RefusesAlgorithmsWhoseReplicasCouldDrift) {
  const TrainingPlan plan = mirrored_plan(every_layer(), DataType::f32);
  const Dataset data = data_for(plan.model, 60);
  int seen = 0;
  for (const AlgorithmInfo& info : algorithms()) {
    if (info.replica_consistent && info.inconsistent_option.empty()) continue;
    std::string spec(info.name);
    if (info.replica_consistent) spec += ":" + std::string(info.inconsistent_option);
    EXPECT_THAT([&] { train_mirrored(plan, 4, spec, data, {}); },
                ThrowsMessage<InvalidArgument>(HasSubstr("equal to the bit")))
        << spec;
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

TEST(MirroredTest, AReplicaThatFailsEndsTheOthers) {
  const TrainingPlan plan = mirrored_plan(every_layer(), DataType::f32);
  const auto fail = [](const Progress&) { throw Unavailable("the observer has gone"); };
  EXPECT_THAT(
      [&] { train_mirrored(plan, 3, "ring", data_for(plan.model, 60), {}, observed(fail)); },
      ThrowsMessage<Unavailable>("the observer has gone"));
}

}  // namespace
}  // namespace collbench

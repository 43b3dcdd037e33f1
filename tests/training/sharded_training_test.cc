#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

#include "core/error.h"
#include "training/mirrored.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TrainingPlan sharded_plan(const Model& model, StateSharding sharding) {
  TrainingPlan plan;
  plan.model = model;
  plan.optimizer = {"adam", 0.01, 0};
  plan.type = DataType::f32;
  plan.global_batch = 24;
  plan.epochs = 2;
  plan.steps = 3;
  plan.buckets = "1K";
  plan.state_sharding = sharding;
  return plan;
}

std::vector<ReplicaReport> reports_of(const TrainingPlan& plan, int replicas,
                                      const std::string& algorithm = "direct",
                                      const ReplicaHooks& hooks = {}) {
  return train_mirrored(plan, replicas, algorithm, data_for(plan.model, 60), {}, hooks);
}

TEST(ShardedTrainingTest, BitsAreThoseOfMirroredTraining) {
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    for (const int replicas : {1, 2, 3, 4}) {
      for (const DataType type : {DataType::f32, DataType::f64}) {
        TrainingPlan plan = sharded_plan(every_layer(), StateSharding::none);
        plan.type = type;
        const bool adam = optimizer[0] == 'a';
        plan.optimizer = {adam ? "adam" : "sgd", 0.05, optimizer[0] == 'm' ? 0.9 : 0};
        const auto mirrored = reports_of(plan, replicas);
        for (const StateSharding sharding : {StateSharding::optimizer, StateSharding::full}) {
          plan.state_sharding = sharding;
          for (const ReplicaReport& report : reports_of(plan, replicas)) {
            EXPECT_EQ(report.parameters, mirrored[0].parameters)
                << optimizer << " " << replicas << " " << to_string(sharding);
            EXPECT_EQ(report.epochs[1].loss, mirrored[0].epochs[1].loss);
          }
        }
      }
    }
  }
}

TEST(ShardedTrainingTest, TwoReplicasHaveTheirBitsWithEveryAlgorithmAndRule) {
  TrainingPlan plan = sharded_plan(every_layer(), StateSharding::none);
  const std::vector<double> mirrored = reports_of(plan, 2)[0].parameters;
  for (const StateSharding sharding : {StateSharding::optimizer, StateSharding::full}) {
    plan.state_sharding = sharding;
    for (const char* algorithm : {"ring", "halving-doubling", "circulant", "auto"}) {
      for (const char* rule : {"one", "tensor", "300", "tf"}) {
        plan.buckets = rule;
        plan.overlap = rule[0] != 't';
        EXPECT_EQ(reports_of(plan, 2, algorithm)[1].parameters, mirrored)
            << algorithm << " " << rule << " " << to_string(sharding);
      }
    }
  }
}

TEST(ShardedTrainingTest, RanksWithoutSamplesTakePart) {
  TrainingPlan plan = sharded_plan(every_layer(), StateSharding::none);
  plan.drop_remainder = false;
  plan.steps = 0;
  plan.global_batch = 8;
  const Dataset data = data_for(plan.model, 17);  // the last batch has one sample for four ranks
  const auto mirrored = train_mirrored(plan, 4, "direct", data, {});
  for (const StateSharding sharding : {StateSharding::optimizer, StateSharding::full}) {
    plan.state_sharding = sharding;
    const auto sharded = train_mirrored(plan, 4, "direct", data, {});
    EXPECT_EQ(sharded[3].parameters, mirrored[0].parameters) << to_string(sharding);
  }
}

TEST(ShardedTrainingTest, NarrowGradientsAndMeansBeforeTheSumAreAsMirrored) {
  TrainingPlan plan = sharded_plan(small_residual(), StateSharding::none);
  plan.wire = DataType::bf16;
  plan.mean_before_sum = true;
  const auto mirrored = reports_of(plan, 3);
  for (const StateSharding sharding : {StateSharding::optimizer, StateSharding::full}) {
    plan.state_sharding = sharding;
    EXPECT_EQ(reports_of(plan, 3)[0].parameters, mirrored[0].parameters) << to_string(sharding);
  }
}

TEST(ShardedTrainingTest, ACheckpointGoesOnWithAnySharding) {
  TrainingPlan plan = sharded_plan(every_layer(), StateSharding::none);
  plan.save_every = 2;
  std::vector<TrainingState> saved;
  ReplicaHooks saving;
  saving.save = [&saved](const TrainingState& state) { saved.push_back(state); };
  const auto whole = reports_of(plan, 3, "direct", saving);
  const TrainingState mirrored = saved.at(1);  // after step 4
  for (const StateSharding from : {StateSharding::optimizer, StateSharding::full}) {
    plan.state_sharding = from;
    saved.clear();
    EXPECT_EQ(reports_of(plan, 3, "direct", saving)[0].parameters, whole[0].parameters);
    const TrainingState state = saved.at(1);
    EXPECT_EQ(state.parameters, mirrored.parameters) << to_string(from);
    EXPECT_EQ(state.optimizer.slots, mirrored.optimizer.slots) << to_string(from);
    EXPECT_EQ(state.optimizer.updates, mirrored.optimizer.updates);
    for (const StateSharding to :
         {StateSharding::none, StateSharding::optimizer, StateSharding::full}) {
      plan.state_sharding = to;
      ReplicaHooks resuming;
      resuming.start = &state;
      const auto resumed = reports_of(plan, 3, "direct", resuming);
      EXPECT_EQ(resumed[0].parameters, whole[0].parameters) << to_string(from) << to_string(to);
      EXPECT_EQ(resumed[0].first_step, 4);
    }
    ReplicaHooks resuming;
    resuming.start = &state;
    EXPECT_THAT(reports_of(plan, 2, "direct", resuming)[0].parameters,
                testing::Pointwise(testing::DoubleNear(1e-5), whole[0].parameters));
  }
}

TEST(ShardedTrainingTest, MemoryIsWithinWhatTheSharesTake) {
  for (const int replicas : {2, 3}) {
    for (const StateSharding sharding :
         {StateSharding::none, StateSharding::optimizer, StateSharding::full}) {
      TrainingPlan plan = sharded_plan(make_model("mlp", std::vector<int>(7, 700)), sharding);
      plan.buckets = "tensor";
      plan.epochs = 1;
      plan.steps = 1;
      for (const ReplicaReport& report : reports_of(plan, replicas)) {
        const TrainingMemory& expected = report.expected_memory;
        EXPECT_EQ(report.memory.parameters, expected.parameters);
        EXPECT_EQ(report.memory.gradients, expected.gradients);
        EXPECT_EQ(report.memory.optimizer, expected.optimizer);
        if (sharding != StateSharding::full) continue;
        EXPECT_LE(report.memory.buffers, expected.buffers);
        EXPECT_GT(report.memory.buffers.count, expected.buffers.count / 4);
        // Mirrored training with Adam has four vectors of f32.
        EXPECT_LT(report.memory.all().count, 13 * parameters_of(plan.model)) << replicas;
      }
    }
  }
}

TEST(ShardedTrainingTest, GloosCollectivesDoToo) {
  if (const std::string why = why_unavailable(find_backend("gloo")); !why.empty()) {
    GTEST_SKIP() << why;
  }
  TrainingPlan plan = sharded_plan(every_layer(), StateSharding::none);
  const Dataset data = data_for(plan.model, 60);
  const auto trained = [&] { return train_mirrored(plan, 2, "auto", data, {}, {}, "gloo"); };
  const std::vector<double> mirrored = trained()[0].parameters;
  for (const StateSharding sharding : {StateSharding::optimizer, StateSharding::full}) {
    plan.state_sharding = sharding;
    EXPECT_EQ(trained()[1].parameters, mirrored) << "two terms have one order";
  }
}

TEST(ShardedTrainingTest, WhatCannotBeShardedIsRefusedWithTheReason) {
  const auto refused = [](const TrainingPlan& plan, const char* algorithm, const char* why) {
    EXPECT_THAT([&] { reports_of(plan, 2, algorithm); },
                ThrowsMessage<InvalidArgument>(HasSubstr(why)));
  };
  TrainingPlan plan = sharded_plan(every_layer(), StateSharding::full);
  refused(plan, "tree", "tree has no reduce-scatter");
  plan.buckets = "auto";
  refused(plan, "ring", "costs of all-reduces");
  plan.buckets = "one";
  plan.central = true;
  refused(plan, "ring", "central storage");
}

}  // namespace
}  // namespace collbench

#include "training/asynchronous/parameter_server.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

#include "core/error.h"
#include "training/mirrored.h"

namespace collbench {
namespace {

TEST(ParameterServerTest, VariablesGoToServersInTurnAndLargeOnesAreDivided) {
  const std::vector<Tensor> tensors = {{"a", 0, 0, 4}, {"b", 0, 4, 11}, {"c", 0, 15, 2}};
  const auto shards = place_variables(tensors, 4, 3, Bytes{16});
  std::vector<std::vector<std::int64_t>> rows;
  for (const VariableShard& shard : shards) {
    rows.push_back({shard.tensor, shard.server, shard.first, shard.count});
  }
  EXPECT_THAT(rows, testing::ElementsAre(
                        testing::ElementsAre(0, 0, 0, 4), testing::ElementsAre(1, 1, 4, 6),
                        testing::ElementsAre(1, 2, 10, 5), testing::ElementsAre(2, 0, 15, 2)));
}

TEST(ParameterServerTest, OneWorkerTrainsWhatOneReplicaDoesWhateverTheServers) {
  TrainingPlan plan = plan_for(every_layer());
  plan.type = DataType::f64;  // Adam's vectors of f32 round by an element's place in its shard
  const Dataset data = data_for(plan.model, 60);
  const auto expected = train_mirrored(plan, 1, "ring", data, {})[0].parameters;
  for (const int servers : {1, 2, 5}) {
    const ServerReport report = train_parameter_server(plan, 1, servers, data, {});
    EXPECT_EQ(report.workers[0].parameters, expected) << servers;
    EXPECT_EQ(report.most_staleness, 0);
  }
}

TEST(ParameterServerTest, ReplicasOfAWorkerShareItsBatchAndTrainWhatOneDoes) {
  TrainingPlan plan = plan_for(every_layer());
  plan.type = DataType::f64;
  plan.drop_remainder = false;
  plan.steps = 0;
  const Dataset data = data_for(plan.model, 61);  // a last batch of 1: two replicas have no sample
  const auto expected = train_parameter_server(plan, 1, 2, data, {}).workers[0].parameters;
  plan.replicas = 3;
  const ServerReport report = train_parameter_server(plan, 1, 2, data, {});
  EXPECT_THAT(report.workers[0].parameters,
              testing::Pointwise(testing::DoubleNear(1e-10), expected));
  EXPECT_EQ(report.workers[0].steps.size(), 12U);
  EXPECT_EQ(train_parameter_server(plan, 1, 1, data, {}).workers[0].parameters,
            report.workers[0].parameters)
      << "the sum of replicas has one order";
}

TEST(ParameterServerTest, ReplicasThatDoNotDivideTheBatchAreRefused) {
  TrainingPlan plan = plan_for(every_layer());
  plan.replicas = 5;
  EXPECT_THAT([&] { train_parameter_server(plan, 1, 1, data_for(plan.model, 60), {}); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("not divisible")));
}

TEST(ParameterServerTest, MovingStatisticsTakeTheMeanOfTheReplicasMoves) {
  TrainingPlan plan = plan_for(small_residual());
  plan.type = DataType::f64;
  plan.epochs = 1;
  plan.steps = 1;
  plan.replicas = 2;
  const Dataset data = data_for(plan.model, 60);
  std::vector<double> together;
  std::vector<double> mirrored;
  ReplicaHooks hooks;
  hooks.save = [&](const TrainingState& state) { together = state.statistics; };
  train_parameter_server(plan, 1, 2, data, {}, hooks);
  hooks.save = [&](const TrainingState& state) { mirrored = state.statistics; };
  plan.replicas = 1;
  train_mirrored(plan, 2, "ring", data, {}, hooks);
  EXPECT_THAT(together, testing::Pointwise(testing::DoubleNear(1e-12), mirrored));
}

TEST(ParameterServerTest, SeveralWorkersDoEveryStepOnceAndLearn) {
  const TrainingPlan plan = plan_for(make_model("dense2"));
  const ServerReport report =
      train_parameter_server(plan, 4, 2, data_for(plan.model, 240), data_for(plan.model, 60));
  std::size_t steps = 0;
  for (const ReplicaReport& worker : report.workers) steps += worker.steps.size();
  EXPECT_EQ(steps, 30U);
  ASSERT_EQ(report.workers[0].epochs.size(), 2U);
  EXPECT_LT(report.workers[0].epochs[1].loss, report.workers[0].epochs[0].loss);
  EXPECT_EQ(report.server_bytes[0] + report.server_bytes[1], 22 * 4);
}

TEST(ParameterServerTest, AWorkerThatFailsEndsTheRunWithItsReason) {
  const TrainingPlan plan = plan_for(every_layer());
  const Dataset data = data_for(plan.model, 60);
  ReplicaHooks hooks;
  hooks.on_step = [](const Progress& now) {  // called on the worker's thread
    if (now.steps == 3) throw InvalidArgument("the third step fails");
  };
  EXPECT_THAT([&] { train_parameter_server(plan, 3, 2, data, {}, hooks); },
              testing::ThrowsMessage<InvalidArgument>("the third step fails"));
}

TEST(ParameterServerTest, CentralStorageTrainsWhatMirroredDoes) {
  TrainingPlan plan = plan_for(every_layer());
  const Dataset data = data_for(plan.model, 60);
  const auto one = train_mirrored(plan, 1, "direct", data, {})[0].parameters;
  const auto two = train_mirrored(plan, 2, "direct", data, {})[0].parameters;
  plan.central = true;
  EXPECT_EQ(train_mirrored(plan, 1, "direct", data, {})[0].parameters, one);
  const auto reports = train_mirrored(plan, 2, "direct", data, {});
  EXPECT_EQ(reports[0].parameters, two) << "a sum of two has one order";
  EXPECT_EQ(reports[1].parameters, two);
}

TEST(ParameterServerTest, RefusesWorkersThatDoNotFitTheMemoryTogether) {
  const TrainingPlan plan = plan_for(make_model("mlp", {1024}));
  const Bytes one = least_memory(plan, 1);
  EXPECT_LT(one, Bytes{64 << 20});
  EXPECT_THAT([&] { train_parameter_server(plan, 1 << 20, 1, data_for(plan.model, 60), {}); },
              testing::ThrowsMessage<TransportError>(
                  testing::HasSubstr("1048576 workers of mlp and their servers need at least")));
}

TEST(ParameterServerTest, RefusesClustersWithoutWorkersOrServers) {
  const TrainingPlan plan = plan_for(every_layer());
  const Dataset data = data_for(plan.model, 60);
  EXPECT_THROW(train_parameter_server(plan, 0, 1, data, {}), InvalidArgument);
  EXPECT_THROW(train_parameter_server(plan, 1, 0, data, {}), InvalidArgument);
}

}  // namespace
}  // namespace collbench

#include "training/replay.h"

#include <gtest/gtest.h>

#include "tests/training/lone_communicator.h"

#include "training/gradient_schedule.h"
#include "training/workloads/workload_profile.h"

namespace collbench {
namespace {

ReplayPlan small_plan() {
  const Workload workload = parse_workload(
      "layer,kind,tensors,forward_flops,activations\na,linear,300+3,1,1\nb,relu,,1,1\n"
      "c,linear,1000,1,1\n",
      "small");
  ReplayPlan plan;
  plan.tensors = tensors_of(workload);
  plan.compute.layers.assign(3, {Seconds(1e-3), Seconds(1e-3), Seconds(1e-3)});
  plan.compute.optimizer = Seconds(1e-3);
  plan.buckets = plan_buckets("tensor", plan.tensors, 4, {});
  plan.steps = 3;
  return plan;
}

std::vector<ReplicaReport> replay_on_threads(const ReplayPlan& plan, int replicas,
                                             const std::string& algorithm) {
  const WorldSpec spec = gradient_world(algorithm, find_backend("shm"), replicas, 1, plan.sharding);
  return replay(plan, *start_world(spec, Seconds{60}), spec);
}

TEST(ReplayTest, EveryRankWaitsForItsComputingAndSumsAllGradients) {
  for (const bool overlap : {true, false}) {
    ReplayPlan plan = small_plan();
    plan.overlap = overlap;
    const auto ranks = replay_on_threads(plan, 3, "ring");  // throws if a sum is wrong
    ASSERT_EQ(ranks.size(), 3U);
    for (const ReplicaReport& report : ranks) {
      ASSERT_EQ(report.steps.size(), 3U);
      for (const StepTimes& times : report.steps) {
        EXPECT_GE(times.whole.count(), plan.compute.whole().count());
        EXPECT_GT(times.communication.count(), 0);
      }
    }
  }
}

// Else what one rank does between steps, to fill and to check, would be communication of the
// others.
TEST(ReplayTest, RanksMeetBeforeEachStepAndAfterTheLast) {
  LoneCommunicator alone;
  replay_rank(small_plan(), alone);
  EXPECT_EQ(alone.calls, "msssmsssmsssmsssm") << "one step to warm up, three tensors";
}

TEST(ReplayTest, ShardedReplaysScatterSumsAndGatherParameters) {
  for (const StateSharding sharding : {StateSharding::optimizer, StateSharding::full}) {
    for (const bool overlap : {true, false}) {
      ReplayPlan plan = small_plan();
      plan.sharding = sharding;
      plan.overlap = overlap;
      plan.wire = overlap ? DataType::bf16 : DataType::f64;
      for (const char* algorithm : {"ring", "auto"}) {  // throws if a sum or a parameter is wrong
        for (const ReplicaReport& report : replay_on_threads(plan, 3, algorithm)) {
          ASSERT_EQ(report.steps.size(), 3U);
          EXPECT_GT(report.steps[0].communication.count(), 0);
          // A rank updates a third of the parameters.
          EXPECT_GE(report.steps[0].whole.count(), plan.compute.whole().count() - 0.7e-3);
        }
      }
    }
  }
}

TEST(ReplayTest, AMeasuredModelIsATableOfItsTensors) {
  TrainingPlan plan;
  plan.model = make_model("mlp", {8, 4});
  plan.optimizer = {"sgd", 0.1, 0};
  plan.engine = "plain";
  const Dataset data = synthetic_dataset(plan.model.input, plan.model.classes, 64, 1, "train");
  const Workload workload = measure_workload(plan, data, 16, 3);
  const std::vector<Tensor> measured = tensors_of(workload);
  const std::vector<Tensor> exact = tensors_of(plan.model);
  ASSERT_EQ(measured.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_EQ(measured[i].count, exact[i].count) << exact[i].name;
    EXPECT_EQ(measured[i].first, exact[i].first) << exact[i].name;
  }
  ASSERT_TRUE(workload.measured.has_value());
  EXPECT_EQ(workload.measured->batch, 16);
  EXPECT_GT(measured_profile(workload, 16).whole().count(), 0);
  EXPECT_EQ(to_table(parse_workload(to_table(workload), "x")), to_table(workload));
}

}  // namespace
}  // namespace collbench

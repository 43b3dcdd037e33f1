// Replicas of several workers, and buckets planned from measured times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

#include "training/bucket_tuner.h"
#include "training/gradient_schedule.h"
#include "training/mirrored.h"
#include "transports/world/nested_world.h"
#include "transports/world/thread_world.h"

namespace collbench {
namespace {

TrainingPlan short_plan_for(const Model& model) {
  TrainingPlan plan = plan_for(model);
  plan.type = DataType::f64;
  plan.steps = 5;
  return plan;
}

/// One thread of a world, as a process that has joined others sees its world.
class OneRank final : public World {
 public:
  OneRank(World& all, RankContext& context) : all_(all), context_(context) {}
  const Backend& backend() const override { return all_.backend(); }
  int ranks() const override { return all_.ranks(); }
  RankRange own_ranks() const override { return {context_.rank, 1}; }
  void on_all(const WorldSpec&, Seconds, const Work& work) override { work.run(context_); }
  std::vector<pid_t> processes() const override { return {}; }

 private:
  World& all_;
  RankContext& context_;
};

std::vector<std::vector<ReplicaReport>> train_workers_of(const TrainingPlan& plan, int workers,
                                                         int replicas, const Dataset& data) {
  WorldSpec spec = gradient_world("ring", find_backend("shm"), workers, 1);
  ThreadWorld all(spec);
  std::vector<std::vector<ReplicaReport>> reports(static_cast<std::size_t>(workers));
  all.on_all(spec, Seconds{60},
             {.run =
                  [&](RankContext& context) {
                    OneRank own(all, context);
                    NestedWorld nested(own, replicas);
                    reports[static_cast<std::size_t>(context.rank)] =
                        train_mirrored(nested, spec, plan, data, data);
                  },
              .order = {},
              .answer = {}});
  return reports;
}

TEST(WorkerReplicasTest, WorkersTimesReplicasTrainWhatAsManyMirroredReplicasDo) {
  for (const Model& model : {every_layer(), small_residual()}) {
    const TrainingPlan plan = short_plan_for(model);
    const Dataset data = data_for(model, 60);
    const auto expected = train_mirrored(plan, 6, "ring", data, data);
    const auto reports = train_workers_of(plan, 3, 2, data);
    for (const auto& worker : reports) {
      ASSERT_EQ(worker.size(), 2U);
      for (const ReplicaReport& replica : worker) {
        EXPECT_EQ(replica.parameters, reports[0][0].parameters) << "to the bit";
        EXPECT_THAT(replica.parameters,
                    testing::Pointwise(testing::DoubleNear(1e-10), expected[0].parameters));
        EXPECT_NEAR(replica.epochs[1].loss, expected[0].epochs[1].loss, 1e-10);
      }
    }
    EXPECT_NEAR(reports[0][0].held_out_accuracy, expected[0].held_out_accuracy, 1e-12);
    EXPECT_EQ(reports[1][0].held_out_accuracy, -1) << "only rank 0 evaluates";
  }
}

TEST(BucketTunerTest, CostsLieOnLinesBetweenTheMeasuredOnes) {
  const AllReduceCost cost = interpolated({Bytes{100}, Bytes{300}}, {Seconds{1}, Seconds{2}});
  EXPECT_EQ(cost(Bytes{10}).count(), 1);
  EXPECT_EQ(cost(Bytes{200}).count(), 1.5);
  EXPECT_EQ(cost(Bytes{300}).count(), 2);
  EXPECT_EQ(cost(Bytes{600}).count(), 4);
}

TEST(BucketTunerTest, ReplicasPlanTheSameBucketsAndTrainTheSame) {
  TrainingPlan plan = short_plan_for(every_layer());
  const Dataset data = data_for(plan.model, 60);
  const auto expected = train_mirrored(plan, 2, "ring", data, {})[0].parameters;
  plan.buckets = "auto";
  const auto reports = train_mirrored(plan, 2, "ring", data, {});
  std::int64_t covered = 0;
  ASSERT_EQ(reports[0].buckets.size(), reports[1].buckets.size());
  for (std::size_t i = 0; i < reports[0].buckets.size(); ++i) {
    EXPECT_EQ(reports[0].buckets[i].first, covered);
    EXPECT_EQ(reports[0].buckets[i].count, reports[1].buckets[i].count);
    covered += reports[0].buckets[i].count;
  }
  EXPECT_EQ(covered, parameters_of(plan.model));
  EXPECT_EQ(reports[0].parameters, expected) << "the sum of two has one order";
}

TEST(BucketTunerTest, AResumedRunKeepsTheBucketsThatWerePlanned) {
  TrainingPlan plan = short_plan_for(every_layer());
  plan.buckets = "auto";
  plan.save_every = 7;
  const Dataset data = data_for(plan.model, 60);
  std::vector<TrainingState> states;
  ReplicaHooks saving;
  saving.save = [&](const TrainingState& state) { states.push_back(state); };
  const auto whole = train_mirrored(plan, 3, "ring", data, {}, saving)[0];
  ASSERT_EQ(states.size(), 2U);
  ASSERT_FALSE(states[0].buckets.empty());
  ReplicaHooks resuming;
  resuming.start = states.data();
  const auto rest = train_mirrored(plan, 3, "ring", data, {}, resuming)[0];
  EXPECT_EQ(rest.parameters, whole.parameters);
  EXPECT_EQ(rest.buckets.size(), whole.buckets.size());
}

}  // namespace
}  // namespace collbench

#include "training/plan.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(PlanTest, EverySettingThatDecidesHowTrainingGoesOnIsTold) {
  using Change = std::function<void(TrainingPlan&)>;
  const std::pair<const char*, Change> changes[] = {
      {"model", [](TrainingPlan& plan) { plan.model.name = "other"; }},
      {"data type",
       [](TrainingPlan& plan) { plan.wire = DataType::f32, plan.type = DataType::f64; }},
      {"optimizer", [](TrainingPlan& plan) { plan.optimizer.name = "sgd"; }},
      {"learning rate", [](TrainingPlan& plan) { plan.optimizer.learning_rate /= 3; }},
      {"momentum", [](TrainingPlan& plan) { plan.optimizer.momentum = 0.5; }},
      {"global batch", [](TrainingPlan& plan) { ++plan.global_batch; }},
      {"steps per epoch", [](TrainingPlan& plan) { ++plan.steps; }},
      {"seed", [](TrainingPlan& plan) { ++plan.seed; }},
      {"autoshard", [](TrainingPlan& plan) { plan.sharding = AutoShard::off; }},
      {"drop remainder", [](TrainingPlan& plan) { plan.drop_remainder = false; }},
      {"loss scaling", [](TrainingPlan& plan) { plan.loss_scaling = LossScaling::tensorflow; }},
      {"wire", [](TrainingPlan& plan) { plan.wire = DataType::f16; }},
      {"digest of the data", [](TrainingPlan& plan) { plan.data_digest = "f00"; }},
      {"division of the data", [](TrainingPlan& plan) { plan.data_division = "data"; }}};
  const TrainingPlan plan = plan_for(every_layer());
  const auto settings = settings_of(plan);
  EXPECT_EQ(settings.size(), std::size(changes));
  for (const auto& [name, change] : changes) {
    TrainingPlan other = plan;
    change(other);
    const auto changed = settings_of(other);
    ASSERT_EQ(changed.size(), settings.size());
    for (std::size_t i = 0; i < settings.size(); ++i) {
      EXPECT_EQ(changed[i].first, settings[i].first);
      EXPECT_EQ(changed[i].second != settings[i].second, settings[i].first == name)
          << name << " changes " << settings[i].first;
    }
  }
}

TEST(PlanTest, ReplicasOfAWorkerShareItsSamplesWhateverFilesTheseAreFrom) {
  TrainingPlan plan = plan_for(every_layer());
  plan.steps = 0;
  Dataset data = data_for(plan.model, 60);
  data.file_sizes = {30, 18, 12};
  EXPECT_EQ(steps_per_epoch(plan, data, 2), 7) << "of 42 samples of the first worker, 6 in each";
  plan.replicas = 2;
  EXPECT_EQ(steps_per_epoch(plan, data, 2), 5);
}

TEST(PlanTest, StepsOfAnEpochAreThoseAskedForOrOnePass) {
  TrainingPlan plan = plan_for(every_layer());
  const Dataset data = data_for(plan.model, 50);
  EXPECT_EQ(steps_per_epoch(plan, data, 2), 15);
  plan.steps = 0;
  EXPECT_EQ(steps_per_epoch(plan, data, 2), 4);  // of 12 samples
  plan.drop_remainder = false;
  EXPECT_EQ(steps_per_epoch(plan, data, 2), 5);
}

TEST(PlanTest, MemoryGrowsWithReplicasParametersAndTheBatch) {
  TrainingPlan plan = plan_for(every_layer());
  const Bytes two = least_memory(plan, 2);
  EXPECT_GT(least_memory(plan, 4), two);  // parameters of each
  plan.global_batch *= 2;
  EXPECT_GT(least_memory(plan, 2), two);
  plan.global_batch /= 2;
  plan.type = DataType::f64;
  EXPECT_GT(least_memory(plan, 2), two);
}

TEST(PlanTest, RefusesWhatContradictsItselfOrTheData) {
  const TrainingPlan plan = plan_for(every_layer());
  const Dataset data = data_for(plan.model, 50);
  const auto refuses = [&](const std::function<void(TrainingPlan&)>& change, const char* text) {
    TrainingPlan other = plan;
    change(other);
    EXPECT_THAT([&] { check(other, data, 2); }, ThrowsMessage<InvalidArgument>(HasSubstr(text)));
  };
  EXPECT_NO_THROW(check(plan, data, 2));
  refuses([](TrainingPlan& other) { other.epochs = 0; }, "at least 1 epoch, not 0");
  refuses([](TrainingPlan& other) { other.steps = -1; }, "cannot have -1 steps");
  refuses([](TrainingPlan& other) { other.global_batch = 0; }, "at least 1, not 0");
  refuses([](TrainingPlan& other) { other.global_batch = 13; }, "not divisible");
  refuses([](TrainingPlan& other) { other.global_batch = 52; }, "does not fit 50 samples");
  refuses([](TrainingPlan& other) { other.model = small_residual(); }, "takes samples of 6x5x2");
  refuses([](TrainingPlan& other) { other.buckets = "many"; }, "buckets are auto");
  refuses([](TrainingPlan& other) { other.optimizer.learning_rate = 0; }, "above 0, not 0");
  EXPECT_THAT([&] { check(plan, data, 0); },
              ThrowsMessage<InvalidArgument>(HasSubstr("at least 1 replica, not 0")));
}

}  // namespace
}  // namespace collbench

#include "training/local_replica.h"

#include <cmath>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_models.h"

#include "training/elements.h"

namespace collbench {
namespace {

TrainingPlan exact_plan(const Model& model, std::int64_t batch) {
  TrainingPlan plan = plan_for(model);
  plan.type = DataType::f64;
  plan.global_batch = batch;
  plan.sharding = AutoShard::data;
  plan.drop_remainder = false;
  return plan;
}

/// The sum over the replicas of the gradients of one step, and of their scores.
std::vector<double> summed_gradients(const TrainingPlan& plan, const Dataset& data, int replicas,
                                     std::int64_t step, Score& score) {
  std::vector<double> sum(static_cast<std::size_t>(parameters_of(plan.model)));
  score = {};
  for (int number = 0; number < replicas; ++number) {
    LocalReplica replica(plan, data, replicas, number);
    replica.read(step);
    const Score own = replica.forward();
    replica.backward([](std::int64_t) {});
    const std::vector<double> gradients = values_of(replica.network().gradients());
    std::transform(sum.begin(), sum.end(), gradients.begin(), sum.begin(), std::plus<>());
    score.loss += own.loss;
    score.correct += own.correct;
  }
  return sum;
}

TEST(LocalReplicaTest, TheSumOfGradientsIsThatOfTheWholeBatchHoweverItIsSliced) {
  const Model model = every_layer();
  const Dataset data = data_for(model, 22);  // 12, then a ragged end of 10
  const TrainingPlan plan = exact_plan(model, 12);
  for (const std::int64_t step : {0, 1}) {
    Score expected_score;
    const std::vector<double> expected = summed_gradients(plan, data, 1, step, expected_score);
    for (const int replicas : {2, 3, 4, 6, 12}) {
      Score score;
      EXPECT_THAT(summed_gradients(plan, data, replicas, step, score),
                  testing::Pointwise(testing::DoubleNear(1e-12), expected))
          << replicas << " replicas in step " << step;
      EXPECT_NEAR(score.loss, expected_score.loss, 1e-9);
      EXPECT_EQ(score.correct, expected_score.correct);
    }
  }
}

TEST(LocalReplicaTest, AReplicaWithoutSamplesAddsNothing) {
  const Model model = every_layer();
  const Dataset data = data_for(model, 13);
  const TrainingPlan plan = exact_plan(model, 12);
  LocalReplica replica(plan, data, 4, 3);
  replica.read(0);  // leaves gradients behind
  replica.forward();
  replica.backward([](std::int64_t) {});
  EXPECT_EQ(replica.read(1).mine, 0);
  EXPECT_FALSE(replica.has_samples());
  EXPECT_EQ(replica.forward().loss, 0);
  bool reported = false;
  replica.backward([&](std::int64_t) { reported = true; });
  EXPECT_FALSE(reported);
  EXPECT_THAT(values_of(replica.network().gradients()), testing::Each(0.0));
}

TEST(LocalReplicaTest, ScalingsDifferWhereSharesDo) {
  const Model model = every_layer();
  const Dataset data = data_for(model, 22);
  TrainingPlan plan = exact_plan(model, 12);
  const auto first_gradients = [&](std::int64_t step) {
    LocalReplica replica(plan, data, 4, 0);
    replica.read(step);
    replica.forward();
    replica.backward([](std::int64_t) {});
    return values_of(replica.network().gradients());
  };
  const auto times = [](std::vector<double> values, double factor) {
    for (double& value : values) value *= factor;
    return testing::Pointwise(testing::DoubleNear(1e-14), values);
  };
  const std::vector<double> whole = first_gradients(0);
  const std::vector<double> ragged = first_gradients(1);  // shares of 3, 3, 3 and 1 of 10
  plan.loss_scaling = LossScaling::tensorflow;
  EXPECT_THAT(first_gradients(0), times(whole, 1));
  EXPECT_THAT(first_gradients(1), times(ragged, 10.0 / 12));
  plan.mean_before_sum = true;  // what is divided by the replicas later
  EXPECT_THAT(first_gradients(0), times(whole, 4));
}

TEST(LocalReplicaTest, AStateGoesFromOneNetworkToAnother) {
  const TrainingPlan plan = plan_for(small_residual());
  const Dataset data = data_for(plan.model, 24);
  LocalReplica trained(plan, data, 1, 0);
  const auto optimizer = make_optimizer(plan);
  for (std::int64_t step = 0; step < 2; ++step) {
    trained.read(step);
    trained.forward();
    trained.backward([](std::int64_t) {});
    optimizer->update(trained.network().parameters(), trained.network().gradients());
  }
  TrainingState state;
  store(trained.network(), state);
  const auto other = make_network(plan, 12);
  const Evaluation before = evaluate(*other, data, 12);
  load(state, *other);
  const std::int64_t all = parameters_of(plan.model);
  EXPECT_EQ(other->fingerprint(0, all), trained.network().fingerprint(0, all));
  const Evaluation expected = evaluate(trained.network(), data, 12);
  EXPECT_EQ(evaluate(*other, data, 12).loss, expected.loss);
  EXPECT_NE(before.loss, expected.loss);
}

TEST(LocalReplicaTest, AnEvaluationDoesNotDependOnItsBatches) {
  const TrainingPlan plan = exact_plan(small_residual(), 12);
  const Dataset data = data_for(plan.model, 23);
  const auto network = make_network(plan, 23);
  const Evaluation whole = evaluate(*network, data, 23);
  for (const std::int64_t batch : {1, 5, 22}) {
    const Evaluation parts = evaluate(*network, data, batch);
    EXPECT_NEAR(parts.loss, whole.loss, 1e-12) << batch;
    EXPECT_EQ(parts.accuracy, whole.accuracy) << batch;
  }
}

}  // namespace
}  // namespace collbench

#include <cmath>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "training/simulated/step.h"

namespace collbench {
namespace {

constexpr double close = 1e-12;

/// Three layers with a tensor each; forward 1 ms, weight 2 ms, input 1 ms (none of the first).
StepModel small_model() {
  StepModel model;
  model.workers = 4;
  const auto ms = [](double time) { return Seconds(time * 1e-3); };
  model.compute.layers = {{ms(1), ms(2), ms(0)}, {ms(1), ms(2), ms(1)}, {ms(1), ms(2), ms(1)}};
  model.compute.optimizer = ms(0.5);
  for (int i = 0; i < 3; ++i) {
    Tensor& tensor = model.tensors.emplace_back();
    tensor.layer = 2 - i;
    tensor.first = 100 * i;
    tensor.count = 100;
  }
  model.buckets = {{0, 100}, {100, 100}, {200, 100}};
  model.all_reduce = {ms(2), ms(2), ms(2)};
  return model;
}

double ms(Seconds time) { return time.count() * 1e3; }

TEST(SimulatedStepTest, BucketsStartWhenTheirTensorsAreReadyAndTheStreamIsFree) {
  const SimulatedStep step = simulate_step(small_model());
  // Ready at 3 + 2, 3 + 5 and 3 + 8 ms.
  ASSERT_EQ(step.buckets.size(), 3U);
  EXPECT_NEAR(ms(step.buckets[0].start), 5, close);
  EXPECT_NEAR(ms(step.buckets[1].start), 8, close);
  EXPECT_NEAR(ms(step.buckets[2].start), 11, close);
  EXPECT_NEAR(ms(step.times.backward), 8, close);
  EXPECT_NEAR(ms(step.times.exposed), 2, close);
  EXPECT_NEAR(ms(step.times.whole), 3 + 8 + 2 + 0.5, close);
}

TEST(SimulatedStepTest, ASlowNetworkMakesBucketsQueue) {
  StepModel model = small_model();
  model.all_reduce = {Seconds(10e-3), Seconds(10e-3), Seconds(10e-3)};
  const SimulatedStep step = simulate_step(model);
  EXPECT_NEAR(ms(step.buckets[2].start), 25, close);
  EXPECT_NEAR(ms(step.times.exposed), 35 - 11, close);
}

TEST(SimulatedStepTest, WithoutOverlapAllCommunicationIsExposed) {
  StepModel model = small_model();
  model.overlap = false;
  const SimulatedStep step = simulate_step(model);
  EXPECT_NEAR(ms(step.times.exposed), 6, close);
  EXPECT_NEAR(ms(step.times.communication), 6, close);
}

TEST(SimulatedStepTest, InterferenceStretchesWhatRunsBesideACollective) {
  StepModel model = small_model();
  model.costs.interference = 0.5;
  // From 5 ms on 2 ms of wall time hold 4/3 ms of work, so the 3 ms to the next tensor take
  // 3 + 2/3 ms; the same again before the last.
  const SimulatedStep step = simulate_step(model);
  EXPECT_NEAR(ms(step.buckets[1].ready), 8 + 2.0 / 3, close);
  EXPECT_NEAR(ms(step.buckets[2].ready), 11 + 4.0 / 3, close);
}

TEST(SimulatedStepTest, LaunchesDelayTheBackwardPass) {
  StepModel model = small_model();
  model.costs.per_tensor = Seconds(0.1e-3);
  model.costs.per_bucket = Seconds(0.2e-3);
  const SimulatedStep step = simulate_step(model);
  EXPECT_NEAR(ms(step.buckets[0].start), 5.3, close);
  EXPECT_NEAR(ms(step.buckets[2].start), 11.9, close);
  const auto ready = ready_times(model.compute, model.tensors, model.costs.per_tensor);
  EXPECT_NEAR(ms(ready[2]), 8.3, close);
}

TEST(SimulatedStepTest, OnlyTheLastMicroBatchCommunicates) {
  StepModel model = small_model();
  model.accumulate = 3;
  const SimulatedStep step = simulate_step(model);
  EXPECT_NEAR(ms(step.times.whole), 2 * 11 + 13.5, close);
  EXPECT_NEAR(ms(step.times.forward), 9, close);
  EXPECT_NEAR(ms(step.times.communication), 6, close);
}

TEST(SimulatedStepTest, AWorkerAloneUpdatesOnceHoweverManyMicroBatches) {
  StepModel model = small_model();
  EXPECT_NEAR(ms(model.alone()), 11.5, close);
  model.accumulate = 3;
  EXPECT_NEAR(ms(model.alone()), 3 * 11 + 0.5, close);
  model.costs.slow_workers = {{2, 2.0}};
  EXPECT_NEAR(ms(simulate_steps(model, 1)[0].times.waiting), 33.5 * (2 - 5.0 / 4), close);
}

TEST(SimulatedStepTest, TheSlowestWorkerCounts) {
  StepModel model = small_model();
  model.costs.slow_workers = {{2, 2.0}};
  const SimulatedStep step = simulate_steps(model, 1).front();
  EXPECT_NEAR(ms(step.times.forward), 6, close);
  EXPECT_NEAR(ms(step.times.waiting), 11.5 * (2 - 5.0 / 4), close);
}

TEST(SimulatedStepTest, CrowdingSlowsWorkersThatAreNotAlone) {
  StepModel model = small_model();
  model.costs.crowding = 0.1;
  EXPECT_NEAR(ms(simulate_steps(model, 1)[0].times.forward), 3.3, close);
  model.workers = 1;
  EXPECT_NEAR(ms(simulate_steps(model, 1)[0].times.forward), 3, close);
}

TEST(SimulatedStepTest, JitterGrowsWithTheWorkersAndRepeatsFromItsSeed) {
  StepModel model = small_model();
  model.costs.jitter = 0.05;
  const auto mean = [](const StepModel& model) {
    double sum = 0;
    for (const SimulatedStep& step : simulate_steps(model, 200)) sum += ms(step.times.whole);
    return sum / 200;
  };
  const double few = mean(model);
  EXPECT_EQ(mean(model), few);
  model.workers = 64;
  EXPECT_GT(mean(model), few * 1.03);
  const Seconds first = simulate_steps(model, 1)[0].times.whole;
  model.costs.seed = 2;
  EXPECT_NE(simulate_steps(model, 1)[0].times.whole, first);
}

TEST(SimulatedStepTest, ImpossibleCostsAreRefused) {
  StepCosts costs;
  costs.interference = -0.1;
  EXPECT_THROW(check(costs, 2), InvalidArgument);
  costs = {};
  costs.slow_workers = {{2, 2.0}};
  EXPECT_THROW(check(costs, 2), InvalidArgument);
}

TEST(SimulatedStepTest, TheTraceHasEveryLayerTwiceAndEveryBucket) {
  Workload workload;
  for (const char* name : {"a", "b", "c"}) workload.layers.push_back({name, "linear", {100}, 0, 0});
  const StepModel model = small_model();
  std::ostringstream out;
  write_step_trace(out, workload, model, simulate_step(model));
  const std::string trace = out.str();
  std::size_t slices = 0;
  for (std::size_t at = trace.find("\"ph\":\"X\""); at != std::string::npos;
       at = trace.find("\"ph\":\"X\"", at + 1)) {
    ++slices;
  }
  EXPECT_EQ(slices, 3U + 3U + 1U + 3U);
  EXPECT_THAT(trace, testing::HasSubstr("\"name\":\"bucket 2\",\"cat\":\"all-reduce\",\"ph\":\"X\","
                                        "\"ts\":11000.000,\"dur\":2000.000"));
}

/// Layers, tensors, buckets and costs by chance.
StepModel random_model(std::uint64_t seed) {
  RandomEngine random = random_engine(seed, "model");
  const auto some = [&](int most) { return 1 + static_cast<int>(random() % most); };
  const auto time = [&](double most) { return Seconds(uniform(random) * most * 1e-3); };
  StepModel model;
  const int layers = some(9);
  for (int i = 0; i < layers; ++i) model.compute.layers.push_back({time(1), time(2), time(2)});
  model.compute.optimizer = time(1);
  std::int64_t first = 0;
  for (int layer = layers; layer-- > 0;) {
    for (int i = some(3); i > 0; --i) {
      const std::int64_t count = some(1000);
      model.tensors.push_back({"", layer, first, count});
      if (model.buckets.empty() || random() % 2 == 0) model.buckets.push_back({first, 0});
      model.buckets.back().count += count;
      first += count;
    }
  }
  for (std::size_t i = 0; i < model.buckets.size(); ++i) model.all_reduce.push_back(time(3));
  model.accumulate = some(3);
  return model;
}

TEST(SimulatedStepTest, EveryStepIsTheSumOfItsPartsAndItsStreamsAreInOrder) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    StepModel model = random_model(seed);
    RandomEngine random = random_engine(seed, "costs");
    model.costs.per_tensor = Seconds(uniform(random) * 1e-5);
    model.costs.per_bucket = Seconds(uniform(random) * 1e-5);
    model.costs.interference = uniform(random);
    model.overlap = seed % 4 != 0;
    const SimulatedStep step = simulate_step(model, 1 + uniform(random));
    const StepTimes& times = step.times;
    EXPECT_NEAR(ms(times.whole),
                ms(times.forward + times.backward + times.exposed + times.optimizer), close);
    EXPECT_EQ(times.input.count() + times.checks.count(), 0);
    ASSERT_EQ(step.buckets.size(), model.buckets.size());
    Seconds free{0};
    Seconds spent{0};
    for (std::size_t i = 0; i < step.buckets.size(); ++i) {
      const BucketSpan& bucket = step.buckets[i];
      EXPECT_GE(bucket.start.count(), bucket.ready.count());
      EXPECT_GE(bucket.start.count(), free.count());
      EXPECT_NEAR(ms(bucket.end - bucket.start), ms(model.all_reduce[i]), close);
      free = bucket.end;
      spent += model.all_reduce[i];
    }
    EXPECT_NEAR(ms(times.communication), ms(spent), close);
    EXPECT_LE(ms(free), ms(times.whole - times.optimizer) + close);
    ASSERT_EQ(step.backward.size(), model.compute.layers.size());
    for (std::size_t i = 1; i < step.backward.size(); ++i) {
      EXPECT_EQ(step.backward[i].layer, step.backward[i - 1].layer - 1);
      EXPECT_EQ(step.backward[i].begin.count(), step.backward[i - 1].end.count());
    }
  }
}

TEST(SimulatedStepTest, OverlapWithoutCostsOfItsOwnNeverHurts) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    StepModel model = random_model(seed);
    const Seconds with = simulate_step(model).times.whole;
    model.overlap = false;
    EXPECT_LE(ms(with), ms(simulate_step(model).times.whole) + close) << seed;
    for (Seconds& cost : model.all_reduce) cost = Seconds{0};
    EXPECT_NEAR(ms(simulate_step(model).times.exposed), 0, close) << seed;
  }
}

TEST(SimulatedStepTest, AStepScalesWithAllItsTimes) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    StepModel model = random_model(seed);
    const double before = ms(simulate_step(model).times.whole);
    for (LayerTimes& layer : model.compute.layers) {
      for (auto time : {&LayerTimes::forward, &LayerTimes::weight, &LayerTimes::input}) {
        layer.*time *= 3;
      }
    }
    model.compute.optimizer *= 3;
    for (Seconds& cost : model.all_reduce) cost *= 3;
    EXPECT_NEAR(ms(simulate_step(model).times.whole), 3 * before, 1e-9) << seed;
  }
}

TEST(SimulatedStepTest, SlownessHasTheSpreadItIsGivenAndKeepsSlowWorkersSlow) {
  const Slowness slowness(3, 0.1, {{1, 2.0}, {1, 1.5}}, 7);
  double sum = 0;
  double squares = 0;
  double ratio = 0;
  constexpr int steps = 4000;
  for (int step = 0; step < steps; ++step) {
    const double own = std::log(slowness.of(0, step));
    sum += own;
    squares += own * own;
    ratio += std::log(slowness.of(1, step));
    EXPECT_EQ(slowness.of(0, step), Slowness(3, 0.1, {}, 7).of(0, step));
  }
  EXPECT_NEAR(sum / steps, 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / steps), 0.1, 0.005);
  EXPECT_NEAR(ratio / steps, std::log(3.0), 0.01);
}

TEST(SimulatedComputeTest, TheRooflineTakesTheLongerOfFlopsAndBytes) {
  const ComputeDevice device{"x", 1e12, 2e12, 1e9, ""};
  const ComputeShares all{1, 1, Seconds(0)};
  Workload workload;
  workload.layers = {{"a", "linear", {1000}, 1e9, 10}, {"b", "relu", {}, 10, 1e6}};
  const auto profile = roofline_profile(workload, device, all, 2, DataType::f32);
  EXPECT_NEAR(profile.layers[0].forward.count(), 2e9 / 1e12, 1e-12);
  EXPECT_EQ(profile.layers[0].input.count(), 0);
  EXPECT_NEAR(profile.layers[1].forward.count(), 2 * (1e6 + 10) * 4 / 1e9, 1e-9);
  EXPECT_NEAR(roofline_profile(workload, device, all, 2, DataType::f16).layers[0].forward.count(),
              2e9 / 2e12, 1e-12);
  const auto scaled = scaled_to(profile, Seconds(1));
  EXPECT_NEAR(scaled.whole().count(), 1, 1e-12);
  EXPECT_NEAR(scaled_to(profile, Seconds(1), 4).whole(4).count(), 1, 1e-12);
  EXPECT_THROW(roofline_profile(workload, device, all, 0, DataType::f32), InvalidArgument);
}

/// The small model with halves of its all-reduces.
StepModel sharded_model(StateSharding sharding) {
  StepModel model = small_model();
  model.sharding = sharding;
  model.all_reduce = {Seconds(1e-3), Seconds(1e-3), Seconds(1e-3)};
  model.all_gather = model.all_reduce;
  return model;
}

TEST(SimulatedStepTest, ShardedOptimizersGatherBehindAShareOfTheUpdate) {
  const SimulatedStep step = simulate_step(sharded_model(StateSharding::optimizer));
  // The last bucket is ready at 11 and summed at 12 ms; then a quarter of the update, in thirds.
  EXPECT_NEAR(ms(step.times.optimizer), 0.125, close);
  ASSERT_EQ(step.gathers.size(), 3U);
  EXPECT_NEAR(ms(step.gathers[0].span.start), 12 + 0.125 / 3, close);
  EXPECT_NEAR(ms(step.gathers[2].span.end), 15 + 0.125 / 3, close);
  EXPECT_NEAR(ms(step.times.exposed), 1 + 3 - 0.25 / 3, close);
  EXPECT_NEAR(ms(step.times.communication), 6, close);
  EXPECT_NEAR(ms(step.times.whole), 15 + 0.125 / 3, close);
}

TEST(SimulatedStepTest, FullShardingGathersAheadOfTheLayers) {
  const SimulatedStep step = simulate_step(sharded_model(StateSharding::full));
  std::vector<std::size_t> order;
  for (const GatherSpan& gather : step.gathers) order.push_back(gather.bucket);
  EXPECT_THAT(order, testing::ElementsAre(2, 1, 0, 1, 2));
  // Only the first gather is waited for; those of the backward pass are beside its layers.
  EXPECT_NEAR(ms(step.times.forward), 3, close);
  EXPECT_NEAR(ms(step.gathers[1].span.start), 1, close);
  EXPECT_NEAR(ms(step.times.backward), 8, close);
  EXPECT_NEAR(ms(step.times.exposed), 1 + 1, close);
  EXPECT_NEAR(ms(step.times.communication), 8, close);
  EXPECT_NEAR(ms(step.times.whole), 1 + 3 + 8 + 1 + 0.125, close);
}

TEST(SimulatedStepTest, FullShardingWithoutOverlapWaitsForEveryGather) {
  StepModel model = sharded_model(StateSharding::full);
  model.overlap = false;
  const SimulatedStep step = simulate_step(model);
  EXPECT_NEAR(ms(step.times.exposed), 8, close);
  EXPECT_NEAR(ms(step.times.whole), 3 + 8 + 8 + 0.125, close);
  model.accumulate = 2;  // each micro-batch gathers, the last one sums
  EXPECT_NEAR(ms(simulate_step(model).times.communication), 13, close);
}

}  // namespace
}  // namespace collbench

// Every algorithm, played for real on threads: exact sums, the same bits everywhere.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transports/thread_ranks.h"

#include "algorithms/registry.h"
#include "algorithms/verify.h"
#include "core/error.h"
#include "core/random.h"
#include "transports/kernels/kernels.h"
#include "transports/play/execute.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {
namespace {

// Small integers: their sum is exact in any order, so one reference serves every schedule.
FloatBuffers integer_inputs(int ranks, std::int64_t count) {
  FloatBuffers inputs(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    for (std::int64_t i = 0; i < count; ++i) {
      inputs[static_cast<std::size_t>(r)].push_back(static_cast<float>((i * 7 + r * 13) % 101));
    }
  }
  return inputs;
}

std::vector<float> exact_sum(const FloatBuffers& inputs) {
  std::vector<float> sum(inputs[0].size(), 0.0F);
  for (const auto& input : inputs) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += input[i];
  }
  return sum;
}

/// What one rank has after playing twice; replays start from the input again, and the barriers keep
/// peers from reading half of that.
std::vector<float> play_twice(Communicator& communicator, const std::vector<float>& input,
                              ReduceOp op, bool in_place) {
  std::vector<float> in = input;
  std::vector<float> out = input;
  for (int i = 0; i < 2; ++i) {
    communicator.barrier();
    if (in_place) out = input;
    communicator.barrier();
    communicator.all_reduce(float_region(in_place ? out : in), float_region(out), op);
  }
  communicator.barrier();
  EXPECT_EQ(in, input) << "an out-of-place input was written";
  return out;
}

FloatBuffers play_shared(const Schedule& schedule, const FloatBuffers& inputs, ReduceOp op,
                         bool in_place) {
  FloatBuffers outputs(inputs.size());
  on_thread_ranks(schedule.ranks(), [&](std::unique_ptr<Endpoint> endpoint) {
    const auto r = static_cast<std::size_t>(endpoint->rank());
    const auto communicator = make_schedule_communicator(schedule, std::move(endpoint), "test");
    outputs[r] = play_twice(*communicator, inputs[r], op, in_place);
  });
  return outputs;
}

struct RegistryCase {
  std::string spec;
  int ranks;
};

std::vector<RegistryCase> registry_cases() {
  std::vector<RegistryCase> cases;
  for (const AlgorithmInfo& info : algorithms()) {
    for (const int n : {1, 2, 3, 4, 5, 6, 7, 8, 12, 13}) {
      try {
        make_schedule(info.name, n);
        cases.push_back({std::string(info.name), n});
      } catch (const InvalidArgument&) {
        // The algorithm does not exist for n ranks; algorithms/ tests that it says so.
      }
    }
  }
  for (const char* spec : {"ring:segments=3", "ring:bidirectional", "ring:pincer"}) {
    for (const int n : {2, 3, 5, 8}) cases.push_back({spec, n});
  }
  return cases;
}

class EveryAlgorithm : public testing::TestWithParam<RegistryCase> {};

TEST_P(EveryAlgorithm, SumsExactlyForAllCountsInAndOutOfPlace) {
  const Schedule schedule = make_schedule(GetParam().spec, GetParam().ranks);
  std::vector<FloatBuffers> inputs;
  std::vector<std::vector<float>> expected;
  for (const std::int64_t count : {0, 1, 3, 17, 64, 1000, 40000}) {
    inputs.push_back(integer_inputs(schedule.ranks(), count));
    expected.push_back(exact_sum(inputs.back()));
  }
  on_thread_ranks(schedule.ranks(), [&](std::unique_ptr<Endpoint> endpoint) {
    const auto r = static_cast<std::size_t>(endpoint->rank());
    const auto communicator = make_schedule_communicator(schedule, std::move(endpoint), "test");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      for (const bool in_place : {true, false}) {
        EXPECT_EQ(play_twice(*communicator, inputs[i][r], ReduceOp::sum, in_place), expected[i])
            << "rank " << r << ", count " << expected[i].size() << ", in place " << in_place;
      }
    }
  });
}

TEST_P(EveryAlgorithm, GivesAllRanksTheSameBitsForInexactSumsAndAverages) {
  const Schedule schedule = make_schedule(GetParam().spec, GetParam().ranks);
  if (!verify_allreduce(schedule).replica_consistent) GTEST_SKIP() << "replica-inconsistent";
  RandomEngine engine = random_engine(7, "inexact");
  std::normal_distribution<float> normal;
  FloatBuffers inputs(static_cast<std::size_t>(schedule.ranks()), std::vector<float>(5000));
  for (auto& input : inputs) {
    for (float& x : input) x = normal(engine);
  }
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
    const FloatBuffers outputs = play_shared(schedule, inputs, op, true);
    const FloatBuffers again = play_shared(schedule, inputs, op, false);
    for (std::size_t r = 0; r < outputs.size(); ++r) {
      ASSERT_EQ(std::memcmp(outputs[r].data(), outputs[0].data(), 5000 * sizeof(float)), 0);
      ASSERT_EQ(std::memcmp(outputs[r].data(), again[r].data(), 5000 * sizeof(float)), 0)
          << "not reproducible, or different out of place";
    }
    const double scale = op == ReduceOp::avg ? 1.0 / schedule.ranks() : 1.0;
    double furthest = 0;
    for (std::size_t i = 0; i < 5000; ++i) {
      double exact = 0;
      for (const auto& input : inputs) exact += input[i];
      furthest = std::fmax(furthest, std::abs(outputs[0][i] - exact * scale));
    }
    ASSERT_LT(furthest, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, testing::ValuesIn(registry_cases()),
                         [](const auto& test) {
                           std::string name =
                               test.param.spec + "_" + std::to_string(test.param.ranks);
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

TEST(Fusion, GivesTheSameBitsAsTheRoundsItReplaces) {
  RandomEngine engine = random_engine(11, "fusion");
  std::normal_distribution<float> normal;
  for (const char* spec : {"direct", "reduce-broadcast", "parameter-server"}) {
    for (const int n : {2, 3, 7}) {
      const Schedule fused = make_schedule(spec, n);
      // An idle third round leaves the meaning as it is and keeps the plan from fusing.
      const auto stretched_play = [fused](Rank r, int t, Round& out) {
        if (t < 2) fused.round(r, t, out);
      };
      const Schedule stretched("stretched", {n, fused.chunks(), 3}, stretched_play,
                               fused.partition());
      ASSERT_TRUE(Plan(fused, 0, 3000, DataType::f32, ReduceOp::sum, true).fusion());
      ASSERT_FALSE(Plan(stretched, 0, 3000, DataType::f32, ReduceOp::sum, true).fusion());
      FloatBuffers inputs(static_cast<std::size_t>(n), std::vector<float>(3000));
      for (auto& input : inputs) {
        for (float& x : input) x = normal(engine);
      }
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::max}) {
        ASSERT_EQ(play_shared(fused, inputs, op, true), play_shared(stretched, inputs, op, true))
            << spec << n;
      }
    }
  }
}

TEST(Fusion, ShowsSmallVectorsOfOneShotToAllAtOnceWithTheBitsOfDirect) {
  RandomEngine engine = random_engine(12, "one-shot");
  std::normal_distribution<float> normal;
  for (const int n : {2, 3, 7}) {
    const Schedule one_shot = make_schedule("one-shot", n);
    const auto fusion = Plan(one_shot, 0, 510, DataType::f32, ReduceOp::sum, true).fusion();
    ASSERT_TRUE(fusion);
    EXPECT_TRUE(fusion->shown);
    EXPECT_FALSE(Plan(one_shot, 0, 511, DataType::f32, ReduceOp::sum, true).fusion());
    FloatBuffers inputs(static_cast<std::size_t>(n), std::vector<float>(126));
    for (auto& input : inputs) {
      for (float& x : input) x = normal(engine);
    }
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::max}) {
      for (const bool in_place : {true, false}) {
        const FloatBuffers sums = play_shared(one_shot, inputs, op, in_place);
        ASSERT_EQ(sums, play_shared(make_schedule("direct", n), inputs, op, in_place)) << n;
        ASSERT_EQ(sums, play_shared(make_schedule("direct", n, Bytes{504}), inputs, op, in_place))
            << n;
      }
    }
  }
}

TEST(Fusion, PlaysAsManyRoundsAsTheScheduleOfTheSizeHas) {
  for (const std::int64_t count : {1, 126, 127, 10000}) {
    const Schedule direct = make_schedule("direct", 4, Bytes{count * 4});
    const auto fusion = Plan(direct, 0, count, DataType::f32, ReduceOp::sum, true).fusion();
    ASSERT_TRUE(fusion) << count;
    EXPECT_EQ(fusion->shown, direct.rounds() == 1) << count;
    EXPECT_EQ(direct.rounds(), count <= 126 ? 1 : 2) << count;
  }
}

// Rank 0 plays `ops` in one round; the others send what it receives, in its order.
Schedule collected_at_rank_0(int ranks, int chunks, std::vector<Op> ops) {
  const auto collect = [ops = std::move(ops)](Rank r, int, Round& out) {
    for (const Op& op : ops) {
      if (r == 0) out.push(op);
      if (r == op.peer) out.send(0, op.chunks);
    }
  };
  return {"collected", {ranks, chunks, 1}, collect};
}

TEST(Plan, FoldsInterleavedRangesAsTheProofDoes) {
  const auto add = [](Rank from, int chunk) { return Op{OpKind::recv_reduce, from, {chunk}}; };
  const Schedule schedule =
      collected_at_rank_0(4, 3, {add(1, 0), add(2, 2), add(3, 2), add(3, 0), add(2, 0), add(1, 1)});
  RandomEngine engine = random_engine(5, "interleaved");
  std::normal_distribution<float> normal;
  FloatBuffers x(4, std::vector<float>(3 * 64));
  for (auto& input : x) {
    for (float& value : input) value = normal(engine);
  }
  const std::vector<float> sum = play_shared(schedule, x, ReduceOp::sum, true)[0];
  for (std::size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(sum[i], ((x[0][i] + x[1][i]) + x[3][i]) + x[2][i]);
    ASSERT_EQ(sum[64 + i], x[0][64 + i] + x[1][64 + i]);
    ASSERT_EQ(sum[128 + i], (x[0][128 + i] + x[2][128 + i]) + x[3][128 + i]);
  }
  // One reduction each, though rank 2 sends chunk 2 first: f16 sums are not rounded on the way.
  const Plan plan(schedule, 0, 3 * 64, DataType::f16, ReduceOp::sum, true);
  const auto reductions =
      std::count_if(plan.steps().begin(), plan.steps().end(),
                    [](const Step& step) { return step.kind == Step::Kind::recv_reduce; });
  EXPECT_EQ(reductions, 3);
}

TEST(Plan, RefusesRangesThatOverlapWithoutBeingEqual) {
  const auto add = [](Rank from, Chunks chunks) { return Op{OpKind::recv_reduce, from, chunks}; };
  const Schedule schedule =
      collected_at_rank_0(4, 2, {add(1, {0, 1}), add(2, {0, 2}), add(3, {0, 1})});
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
    EXPECT_THROW(Plan(schedule, 0, 1000, DataType::f32, op, true), InvalidArgument);
  }
  // Even where the second chunk is empty and the elements would be the same.
  EXPECT_THROW(Plan(schedule, 0, 1, DataType::f32, ReduceOp::sum, true), InvalidArgument);
}

TEST(ShmEndpoint, NamesTheRankThatNeverArrives) {
  // A long ring: most ranks wait for one that is itself waiting.
  const Schedule schedule = make_schedule("ring", 6);
  const ShmOptions options{.timeout = Seconds{0.3}};
  try {
    on_thread_ranks(
        6,
        [&](std::unique_ptr<Endpoint> endpoint) {
          if (endpoint->rank() == 2) return;  // never takes part
          std::vector<float> data(1000, 1.0F);
          const auto communicator =
              make_schedule_communicator(schedule, std::move(endpoint), "test");
          communicator->all_reduce(float_region(data), float_region(data), ReduceOp::sum);
        },
        options);
    FAIL() << "nothing was thrown";
  } catch (const TransportError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 2"), std::string::npos) << error.what();
  }
}

TEST(ShmEndpoint, EndsEveryRankWhenOneFails) {
  const auto world = allocate_shm_world(4, {.timeout = Seconds{20.0}});
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (Rank r = 0; r < 4; ++r) {
    threads.emplace_back([&, r] {
      if (r == 3) {
        abort_shm_world(world.get(), "rank 3 was killed by signal 9");
        return;
      }
      std::vector<float> data(100000, 1.0F);
      const auto communicator = make_schedule_communicator(
          make_schedule("direct", 4), make_shm_endpoint({.world = world.get()}, r), "test");
      try {
        communicator->all_reduce(float_region(data), float_region(data), ReduceOp::sum);
      } catch (const TransportError& error) {
        if (std::string(error.what()).find("rank 3 was killed") != std::string::npos) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 3);
}

TEST(ShmEndpoint, RefusesMoreMessagesInARoundThanItHolds) {
  const auto many = [](Rank r, int, Round& out) {
    for (int c = 0; c < 100; ++c) {
      if (r == 0) out.send(1, {c, 1});
      if (r == 1) out.recv_reduce(0, {c, 1});
    }
  };
  const Schedule schedule("many", {2, 100, 1}, many);
  const auto world = allocate_shm_world(2, {});
  const auto endpoint = make_shm_endpoint({.world = world.get()}, 0);
  EXPECT_THROW(BoundPlan(Plan(schedule, 0, 100, DataType::f32, ReduceOp::sum, true), *endpoint),
               InvalidArgument);
}

TEST(Communicator, BroadcastsFromAnyRoot) {
  for (const int n : {1, 2, 5, 8}) {
    for (Rank root = 0; root < n; ++root) {
      FloatBuffers data(static_cast<std::size_t>(n), std::vector<float>(1000, -1.0F));
      data[static_cast<std::size_t>(root)].assign(1000, 42.0F);
      on_thread_ranks(n, [&](std::unique_ptr<Endpoint> endpoint) {
        auto& mine = data[static_cast<std::size_t>(endpoint->rank())];
        const auto communicator =
            make_schedule_communicator(make_schedule("ring", n), std::move(endpoint), "test");
        communicator->broadcast(float_region(mine), root);
      });
      for (const auto& mine : data) EXPECT_EQ(mine, std::vector<float>(1000, 42.0F));
    }
  }
}

}  // namespace
}  // namespace collbench

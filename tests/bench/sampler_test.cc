#include "bench/measure/sampler.h"

#include <atomic>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/scripted_world.h"

#include "bench/measure/stamps.h"
#include "bench/measure/stopping_rule.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Case small_case(int workers = 3) {
  Case point;
  point.algorithm = "naive";
  point.backend = "test";
  point.workers = workers;
  point.bytes = Bytes{40'000};
  return point;
}

Sampling few(int iterations = 12) {
  Sampling sampling;
  sampling.iterations = iterations;
  sampling.warmup = 2;
  sampling.max_time = Seconds{0.01};
  return sampling;
}

TEST(AppendBatchTest, LatencyIsFromTheLastArrivalToTheLastCompletion) {
  // Two iterations of three ranks; the last to arrive is not the last to complete.
  const std::vector<Stamp> stamps = {{100, 250}, {1000, 1100},  //
                                     {130, 190}, {1010, 1500},  //
                                     {90, 200},  {1040, 1090}};
  Measurement measured;
  append_batch(stamps, 3, true, measured);
  EXPECT_THAT(measured.latency_ns, ElementsAre(120, 460));
  EXPECT_THAT(measured.skew_ns, ElementsAre(40, 40));
}

TEST(AppendBatchTest, WithoutOneClockTheSlowestRanksOwnTimeCounts) {
  const std::vector<Stamp> stamps = {{100, 250}, {7'000'000, 7'000'060}};
  Measurement measured;
  append_batch(stamps, 2, false, measured);
  EXPECT_THAT(measured.latency_ns, ElementsAre(150));
  EXPECT_THAT(measured.skew_ns, ElementsAre(0));
}

TEST(AppendBatchTest, TimesOfRanksStandIterationByIteration) {
  const std::vector<Stamp> stamps = {{100, 250},
                                     {1000, 1100},  //
                                     {130, 190},
                                     {1010, 1500}};
  Measurement measured;
  append_rank_times(stamps, 2, measured);
  EXPECT_THAT(measured.rank_time_ns, ElementsAre(150, 60, 100, 490));
}

TEST(SamplerTest, ScriptedClocksGiveExactlyTheirLatencies) {
  // Rank r's k-th reading: arrivals 1000 k + 10 r, completions 500 - r later than 1000 k.
  const auto clock_of = [](Rank rank) {
    return [rank, reading = std::int64_t{0}]() mutable {
      const std::int64_t k = reading++;
      return k % 2 == 0 ? 1000 * (k / 2) + 10 * rank : 1000 * (k / 2) + 500 - rank;
    };
  };
  for (const Measurement& measured : sample_naively(small_case(), few(300), {}, clock_of)) {
    EXPECT_THAT(measured.latency_ns, SizeIs(300));
    EXPECT_THAT(measured.latency_ns, Each(500 - 20));
    EXPECT_THAT(measured.skew_ns, Each(20));
    EXPECT_THAT(measured.back_to_back_ns, SizeIs(5));
  }
}

TEST(SamplerTest, NoSeriesIsLongerThanWasAskedFor) {
  std::atomic<int> calls{0};
  const auto count_calls = [&](Rank, std::vector<float>&) { ++calls; };
  const auto clock_of = [](Rank) {  // a microsecond between readings: thousands would fit
    return [reading = std::int64_t{0}]() mutable { return 1000 * reading++; };
  };
  const Measurement measured = sample_naively(small_case(1), few(12), count_calls, clock_of)[0];
  EXPECT_THAT(measured.back_to_back_ns, SizeIs(5));
  // Warm-up, the timed ones, five batches, and the checks before and after.
  EXPECT_GE(calls, 2 + 12 + 5 * 12);
  EXPECT_LE(calls, 2 + 12 + 5 * 12 + 5);
}

// As on a busy machine: by the median thousands would fit.
TEST(SamplerTest, SeriesAreAsLongAsTheMeanAllowsWhereFewIterationsTakeAllTheTime) {
  std::atomic<int> calls{0};
  const auto count_calls = [&](Rank, std::vector<float>&) { ++calls; };
  const auto clock_of = [](Rank) {  // every third iteration takes 100 ms, the others a microsecond
    return [reading = std::int64_t{0}, now = std::int64_t{0}]() mutable {
      now += ++reading % 6 == 0 ? 100'000'000 : 1000;
      return now;
    };
  };
  const Measurement measured = sample_naively(small_case(1), few(12), count_calls, clock_of)[0];
  EXPECT_THAT(measured.back_to_back_ns, SizeIs(5));
  EXPECT_LE(calls, 2 + 12 + 5 * 2 + 5);
}

TEST(SamplerTest, AnAutomaticRunWhoseTimeIsSpentHasNeitherSeriesNorASecondCheckOfWhatIsKnown) {
  Sampling sampling;
  sampling.max_time = Seconds{1e-9};
  for (const Buffers buffers : {Buffers::produced, Buffers::hot}) {
    Case point = small_case(1);
    point.buffers = buffers;
    std::atomic<int> calls{0};
    const auto count_calls = [&](Rank, std::vector<float>&) { ++calls; };
    const Measurement measured = sample_naively(point, sampling, count_calls)[0];
    EXPECT_THAT(measured.latency_ns, SizeIs(StoppingRule::least));
    EXPECT_THAT(measured.back_to_back_ns, testing::IsEmpty());
    EXPECT_EQ(measured.wrong, 0);
    // A comparison of ranks, one to warm up, the timed ones; one before and one after where not
    // every iteration is checked.
    const int checks = buffers == Buffers::produced ? 0 : 2;
    EXPECT_EQ(calls, 1 + 1 + StoppingRule::least + checks);
  }
}

TEST(SamplerTest, RightResultsAreFoundRightInEveryBufferMode) {
  for (const Buffers buffers : {Buffers::hot, Buffers::produced, Buffers::cold}) {
    for (const bool in_place : {true, false}) {
      Case point = small_case();
      point.buffers = buffers;
      point.in_place = in_place;
      const Measurement measured = sample_naively(point, few())[0];
      EXPECT_EQ(measured.wrong, 0) << to_string(buffers) << in_place;
      EXPECT_TRUE(measured.replicas_identical);
      EXPECT_THAT(measured.latency_ns, SizeIs(12));
      EXPECT_EQ(measured.played, "naive sum");
    }
  }
}

TEST(SamplerTest, OneWrongElementOnOneRankIsCaught) {
  const auto fault = [](Rank rank, std::vector<float>& sum) {
    if (rank == 2) sum[7777] += 1;
  };
  Case point = small_case();
  point.buffers = Buffers::hot;
  const std::vector<Measurement> measured = sample_naively(point, few(), fault);
  for (const Measurement& of_rank : measured) {
    EXPECT_EQ(of_rank.wrong, 2);  // one element, before and after the timing
    EXPECT_FALSE(of_rank.replicas_identical);
  }
}

TEST(SamplerTest, AFaultThatOnlyShowsLaterIsCaughtAfterTheTiming) {
  std::atomic<int> calls{0};
  const auto fault = [&](Rank rank, std::vector<float>& sum) {
    if (rank == 0 && ++calls > 5) sum[0] = -1;
  };
  EXPECT_GT(sample_naively(small_case(), few(), fault)[1].wrong, 0);
}

TEST(SamplerTest, WhereBuffersAreProducedEveryIterationIsChecked) {
  // A comparison of ranks, and a check unless in place; two warm-up iterations, twelve timed ones:
  // one wrong element in any of these.
  for (const bool in_place : {true, false}) {
    Case point = small_case();
    point.buffers = Buffers::produced;
    point.in_place = in_place;
    const int first = in_place ? 1 : 2;
    for (int wrong_call = first; wrong_call < first + 14; ++wrong_call) {
      const auto fault = [wrong_call, calls = std::array<int, 3>{}](
                             Rank rank, std::vector<float>& sum) mutable {
        if (calls[static_cast<std::size_t>(rank)]++ == wrong_call && rank == 1) sum[77] += 1;
      };
      const Measurement measured = sample_naively(point, few(), fault)[0];
      EXPECT_EQ(measured.wrong, 1) << wrong_call << in_place;
      EXPECT_TRUE(measured.each_checked);
    }
  }
  Case unchanged = small_case();
  unchanged.buffers = Buffers::hot;
  EXPECT_FALSE(sample_naively(unchanged, few())[0].each_checked);
}

TEST(SamplerTest, ResultsThatDifferOnlyInRoundingAreNotIdenticalReplicasButNotWrong) {
  const auto fault = [](Rank rank, std::vector<float>& sum) {
    for (float& value : sum) {
      // The last bit of what is no whole number, as another order of additions would change it.
      if (rank == 1 && value != std::floor(value)) {
        value = std::nextafterf(value, 2.0F);
      }
    }
  };
  const Measurement measured = sample_naively(small_case(), few(), fault)[0];
  EXPECT_EQ(measured.wrong, 0);
  EXPECT_FALSE(measured.replicas_identical);
}

TEST(SamplerTest, UncheckedRunsSaySo) {
  Sampling sampling = few();
  sampling.check = false;
  EXPECT_EQ(sample_naively(small_case(), sampling)[0].wrong, -1);
}

TEST(SamplerTest, EmptyVectorsAreMeasuredToo) {
  Case point = small_case();
  point.bytes = Bytes{0};
  const Measurement measured = sample_naively(point, few())[0];
  EXPECT_EQ(measured.wrong, 0);
  EXPECT_THAT(measured.latency_ns, SizeIs(12));
}

TEST(SamplerTest, AutomaticRunsStopAlikeOnAllRanks) {
  Sampling sampling;
  sampling.max_time = Seconds{0.05};
  const std::vector<Measurement> measured = sample_naively(small_case(), sampling);
  EXPECT_GE(measured[0].latency_ns.size(), 5U);
  for (const Measurement& of_rank : measured) {
    EXPECT_EQ(of_rank.latency_ns, measured[0].latency_ns);
    EXPECT_EQ(of_rank.back_to_back_ns, measured[0].back_to_back_ns);
  }
}

TEST(SamplerTest, ARankWithAnotherTypeIsNamedOnEveryRank) {
  const Case point = small_case();
  NaiveWorld world(3);
  std::atomic<int> refused{0};
  as_ranks(3, [&](Rank rank, Rendezvous& rendezvous) {
    Case mine = point;
    if (rank == 2) mine.type = DataType::i32;
    NaiveCommunicator communicator(world, rank, 3);
    const UserBuffers buffers(mine, allocate_pages(user_buffer_bytes(mine)));
    try {
      sample(mine, few(), communicator, rendezvous, buffers);
    } catch (const TransportError& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 2 has data type i32 where rank 0 has f32"));
      ++refused;
    }
  });
  EXPECT_EQ(refused, 3);
}

}  // namespace
}  // namespace collbench

// Verdicts about jobs where a wrong one is easy: each script makes records of Inspector's kind with
// a known truth, and the verdict is that, or says that it cannot be told.
#include "bench/logs/job_verdict.h"

#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/logs/job_workload.h"
#include "bench/logs/log_readers.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t size = 26214400;

/// A job of one communicator: durations by rank from when each arrives.
struct ScriptedJob {
  int ranks = 4;
  double rate_gbs = 46;
  std::int64_t bytes = size;
  std::string id = "0x1";
  std::mt19937 random{1};
  std::vector<std::string> lines{};  // by rank

  /// One operation: `delays` are microseconds that ranks come late.
  void operate(int sequence, const std::vector<double>& delays) {
    lines.resize(static_cast<std::size_t>(ranks));
    const double n = ranks;
    const double transfer = 60 + 2 * (n - 1) / n * static_cast<double>(bytes) / (rate_gbs * 1e3);
    const double last = *std::max_element(delays.begin(), delays.end());
    std::uniform_real_distribution<double> jitter(0, 15);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      lines[r] += line(rank, sequence, last - delays[r] + transfer + jitter(random));
    }
  }
  std::string line(int rank, int sequence, double us) const {
    return fmt::format(
        R"({{"header":{{"id":"{}","rank":{},"n_ranks":{},"nnodes":2}},)"
        R"("metadata":{{"inspector_output_format_version":"v4.0","hostname":"h{}","pid":{}}},)"
        R"("coll_perf":{{"coll":"AllReduce","coll_sn":{},"coll_msg_size_bytes":{},)"
        R"("coll_exec_time_us":{:.0f},"coll_timing_source":"kernel_gpu"}}}})"
        "\n",
        id, rank, ranks, rank / 2, 100 + rank, sequence, bytes, us);
  }
  std::vector<double> late(int rank, double us) const {
    std::vector<double> delays(static_cast<std::size_t>(ranks), 0);
    delays[static_cast<std::size_t>(rank)] = us;
    return delays;
  }
  std::vector<double> on_time() const { return late(0, 0); }
  void read_into(JobLog& job, const std::vector<int>& those) const {
    for (const int rank : those) {
      read_log(lines[static_cast<std::size_t>(rank)], fmt::format("f{}", rank), job);
    }
  }
  JobVerdict verdict(const std::vector<int>& those = {0, 1, 2, 3}) const {
    JobLog job;
    read_into(job, those);
    return judge_job(job, {});
  }
};

TEST(JobVerdictTest, ASlowNetworkIsNotALateRank) {
  ScriptedJob job{.rate_gbs = 16};
  for (int i = 0; i < 20; ++i) job.operate(i, job.on_time());
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.network.state, NetworkState::slow);
  EXPECT_THAT(verdict.lateness.late, IsEmpty());
  EXPECT_EQ(verdict.lateness.unknown, "");
  EXPECT_FALSE(verdict.is_healthy());
}

TEST(JobVerdictTest, ALateRankOnASlowNetworkIsBoth) {
  ScriptedJob job{.rate_gbs = 16};
  for (int i = 0; i < 20; ++i) job.operate(i, job.late(3, 4000));
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.network.state, NetworkState::slow);
  EXPECT_EQ(verdict.late(), 3);
}

TEST(JobVerdictTest, ASlowLinkOfARingIsNotALateRank) {
  // Steps of 2000 us behind the link from rank 1: ranks end after 6, 5, 4 and again 6 of them.
  ScriptedJob job;
  for (int i = 0; i < 20; ++i) {
    job.lines.resize(4);
    for (const auto& [rank, steps] :
         {std::pair{2, 6}, std::pair{3, 5}, std::pair{0, 4}, std::pair{1, 6}}) {
      job.lines[static_cast<std::size_t>(rank)] += job.line(rank, i, 2000.0 * steps);
    }
  }
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.network.state, NetworkState::slow);
  EXPECT_THAT(verdict.lateness.late, IsEmpty());
  EXPECT_THAT(verdict.lateness.unknown, HasSubstr("as one slow link would make it seem"));
}

TEST(JobVerdictTest, WithoutTheLateRanksLogNetworkAndLatenessCannotBeTold) {
  ScriptedJob job;
  for (int i = 0; i < 20; ++i) job.operate(i, job.late(2, 3000));
  const JobVerdict verdict = job.verdict({0, 1, 3});
  EXPECT_EQ(verdict.network.state, NetworkState::unknown);
  EXPECT_THAT(verdict.network.unknown, HasSubstr("only 3 of 4 ranks have logs"));
  EXPECT_THAT(verdict.lateness.late, IsEmpty());
  EXPECT_THAT(verdict.lateness.unknown, HasSubstr("ranks whose logs are missing may"));
}

TEST(JobVerdictTest, ALateRankAmongSomeIsNamedOnlyIfTheTransferIsAtFullSpeed) {
  ScriptedJob job;
  for (int i = 0; i < 20; ++i) job.operate(i, job.late(2, 3000));
  EXPECT_EQ(job.verdict({0, 2}).late(), 2);
  ScriptedJob two_late;
  for (int i = 0; i < 20; ++i) two_late.operate(i, {0, 1500, 3000, 0});
  const JobVerdict verdict = two_late.verdict({0, 1});
  EXPECT_THAT(verdict.lateness.late, IsEmpty()) << "rank 2 is later than rank 1";
  EXPECT_THAT(verdict.lateness.unknown, HasSubstr("one that is missing may be later"));
}

TEST(JobVerdictTest, OneRanksLogTellsOnlyThatTheNetworkIsHealthy) {
  ScriptedJob healthy;
  for (int i = 0; i < 20; ++i) healthy.operate(i, healthy.on_time());
  EXPECT_EQ(healthy.verdict({1}).network.state, NetworkState::healthy);
  EXPECT_NE(healthy.verdict({1}).lateness.unknown, "");
  ScriptedJob slow{.rate_gbs = 16};
  for (int i = 0; i < 20; ++i) slow.operate(i, slow.on_time());
  EXPECT_EQ(slow.verdict({1}).network.state, NetworkState::unknown) << "it may wait for another";
}

TEST(JobVerdictTest, ARankThatIsLateNowAndThenIsNamedAsThat) {
  ScriptedJob job;
  for (int i = 0; i < 60; ++i) job.operate(i, i % 8 == 5 ? job.late(1, 5000) : job.on_time());
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.late(), 1);
  EXPECT_TRUE(verdict.lateness.sporadic());
  EXPECT_EQ(verdict.lateness.blamed, 7);
  EXPECT_EQ(verdict.network.state, NetworkState::healthy);
}

TEST(JobVerdictTest, RanksThatAreLateByTurnsAreNobodyInParticular) {
  ScriptedJob job;
  for (int i = 0; i < 60; ++i) job.operate(i, job.late(i * 7 % 4, 2000));
  const JobVerdict verdict = job.verdict();
  EXPECT_THAT(verdict.lateness.late, IsEmpty());
  EXPECT_TRUE(verdict.lateness.spread);
  EXPECT_EQ(verdict.network.state, NetworkState::healthy);
}

TEST(JobVerdictTest, TwoOperationsAreTooFewToTell) {
  ScriptedJob job;
  for (int i = 0; i < 10; ++i) job.operate(i, i >= 8 ? job.late(1, 5000) : job.on_time());
  const JobVerdict verdict = job.verdict();
  EXPECT_THAT(verdict.lateness.late, IsEmpty());
  EXPECT_THAT(verdict.lateness.unknown, HasSubstr("too few"));
}

TEST(JobVerdictTest, AHostThatIsLateIsNamedWhole) {
  ScriptedJob job{.ranks = 8, .rate_gbs = 46};
  for (int i = 0; i < 40; ++i) job.operate(i, {0, 0, 0, 0, 3000, 3000, 0, 0});
  const JobVerdict verdict = job.verdict({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT(verdict.lateness.late, ElementsAre(4, 5));
  EXPECT_FALSE(verdict.late().has_value());
}

TEST(JobVerdictTest, WrappedRingBuffersAreComparedWhereTheyOverlap) {
  ScriptedJob job;
  for (int i = 0; i < 40; ++i) job.operate(i, job.late(2, 3000));
  // Each rank lost another number of its oldest records, rank 2 the most.
  for (const auto& [rank, lost] : {std::pair{0, 3}, std::pair{2, 20}, std::pair{3, 7}}) {
    std::string& text = job.lines[static_cast<std::size_t>(rank)];
    for (int i = 0; i < lost; ++i) text.erase(0, text.find('\n') + 1);
  }
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.late(), 2);
  EXPECT_EQ(verdict.lateness.operations, 20) << "those that all have";
  EXPECT_EQ(verdict.network.state, NetworkState::healthy);
}

TEST(JobVerdictTest, RingBuffersThatDoNotOverlapCannotTellALateRank) {
  for (const double rate : {46.0, 16.0}) {
    ScriptedJob job{.rate_gbs = rate};
    for (int i = 0; i < 40; ++i) job.operate(i, job.late(2, 3000));
    // Rank 2 has only the last twenty, the others only the first.
    for (std::size_t rank = 0; rank < 4; ++rank) {
      std::string& text = job.lines[rank];
      std::size_t middle = 0;
      for (int i = 0; i < 20; ++i) middle = text.find('\n', middle) + 1;
      text = rank == 2 ? text.substr(middle) : text.substr(0, middle);
    }
    const JobVerdict verdict = job.verdict();
    EXPECT_THAT(verdict.lateness.late, IsEmpty());
    EXPECT_NE(verdict.lateness.unknown, "");
    if (rate > 40) {
      EXPECT_EQ(verdict.network.state, NetworkState::healthy) << "rank 2 was never in it for long";
    } else {
      EXPECT_EQ(verdict.network.state, NetworkState::unknown);
      EXPECT_THAT(verdict.network.unknown,
                  HasSubstr("no operation has the durations of all ranks"));
    }
  }
}

TEST(JobVerdictTest, ALogThatWasCutEarlyDoesNotHideTheOthers) {
  ScriptedJob job;
  for (int i = 0; i < 40; ++i) job.operate(i, job.late(2, 3000));
  job.lines[3].resize(job.lines[3].find('\n', 700) + 30);
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.late(), 2) << "the transfers are at full speed";
  EXPECT_EQ(verdict.lateness.operations, 40);
}

TEST(JobVerdictTest, CommunicatorsWithTheSameNumbersAreKeptApart) {
  ScriptedJob one;
  ScriptedJob other{.id = "0x2", .random = std::mt19937(2)};
  for (int i = 0; i < 20; ++i) {
    one.operate(i, one.late(2, 3000));
    other.operate(i, other.on_time());
  }
  JobLog job;
  one.read_into(job, {0, 1, 2, 3});
  other.read_into(job, {0, 1, 2, 3});
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_EQ(verdict.operations, 40);
  EXPECT_EQ(verdict.late(), 2);
  EXPECT_EQ(verdict.lateness.waited, 20);
  ASSERT_EQ(verdict.sizes.size(), 2U);
  EXPECT_NEAR(verdict.sizes[0].duration_us - verdict.sizes[1].duration_us, 2250, 20);
}

TEST(JobVerdictTest, RanksOfSmallGroupsAreNamedAsInTheJob) {
  // Two groups of two: rank 0 of the second is rank 2 of the job, whose process is known by the
  // large communicator.
  ScriptedJob world;
  for (int i = 0; i < 3; ++i) world.operate(i, world.on_time());
  ScriptedJob pair{.ranks = 2, .id = "0x9"};
  for (int i = 0; i < 20; ++i) pair.operate(i, pair.late(0, 2500));
  JobLog job;
  world.read_into(job, {0, 1, 2, 3});
  for (std::string& text : pair.lines) {
    for (const auto& [from, to] :
         {std::pair{"\"pid\":101", "\"pid\":103"}, std::pair{"\"pid\":100", "\"pid\":102"},
          std::pair{"\"h0\"", "\"h1\""}}) {
      for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; ++at) {
        text.replace(at, std::string_view(from).size(), to);
      }
    }
  }
  pair.read_into(job, {0, 1});
  EXPECT_EQ(judge_job(job, {}).late(), 2);
}

TEST(JobVerdictTest, OperationsWithoutAGapDoNotHideALateRank) {
  // Of a burst of ten only the first can wait: nine in ten show nothing.
  ScriptedJob job;
  for (int i = 0; i < 100; ++i) job.operate(i, i % 10 == 0 ? job.late(3, 8000) : job.on_time());
  EXPECT_EQ(job.verdict().late(), 3);
}

TEST(JobVerdictTest, TimesOfTheEnqueueAreLeftOut) {
  ScriptedJob job;
  for (int i = 0; i < 10; ++i) job.operate(i, job.on_time());
  std::string& text = job.lines[1];
  for (std::size_t at = 0; (at = text.find("kernel_gpu", at)) != text.npos;) {
    text.replace(at, 10, "collective_cpu");
  }
  JobLog log;
  job.read_into(log, {0, 1, 2, 3});
  EXPECT_EQ(log.left_out.at("Inspector records timed by collective_cpu, which is the enqueue and "
                            "not the kernel"),
            10);
  EXPECT_NE(judge_job(log, {}).lateness.unknown, "") << "rank 1 has no usable time";
}

TEST(JobVerdictTest, ClocksAreAlignedByEnds) {
  JobLog job;
  job.communicator("c", "c", 2);
  for (int i = 0; i < 5; ++i) {
    for (int rank = 0; rank < 2; ++rank) {
      LogRecord& record = job.records.emplace_back();
      record.rank = rank;
      record.kind = LoggedKind::all_reduce;
      record.sequence = i;
      record.bytes = size;
      // Rank 1 comes 700 us later, and its clock is 5000 us ahead.
      record.duration_us = rank == 0 ? 1700 : 1000;
      record.start_us = 10000 * i + (rank == 0 ? 0 : 700 + 5000);
    }
  }
  EXPECT_THAT(judge_job(job, {}).clock_offset_us, ElementsAre(0, 5000));
}

TEST(JobWorkloadTest, AStepIsTheShortestRunOfSizesAndItsTimesHoldNoWaiting) {
  JobLog job;
  job.communicator("c", "c", 2);
  // Rank 1 needs 1000 us for each of two buckets and 3000 us from the last to the next step; rank 0
  // always waits for it.
  double end = 0;
  for (int i = 0; i < 10; ++i) {
    const double start = i % 2 == 0 ? end + 3000 : end - 200 + 1000;
    for (int rank = 0; rank < 2; ++rank) {
      LogRecord& record = job.records.emplace_back();
      record.rank = rank;
      record.kind = LoggedKind::all_reduce;
      record.sequence = i;
      record.bytes = i % 2 == 0 ? 4000 : 400;
      record.start_us = rank == 1 ? start : std::max(end, start - 900);
      record.duration_us = start + 200 - record.start_us;
    }
    end = start + 200;
  }
  judge_job(job, {});
  const JobWorkload made = workload_of_job(job);
  EXPECT_EQ(made.steps, 5);
  ASSERT_EQ(made.workload.layers.size(), 2U);
  EXPECT_THAT(made.workload.layers[0].tensors, ElementsAre(100)) << "the last bucket is in front";
  EXPECT_THAT(made.workload.layers[1].tensors, ElementsAre(1000));
  ASSERT_TRUE(made.workload.measured.has_value());
  const std::vector<LayerTimes>& times = made.workload.measured->layers;
  EXPECT_EQ(made.workload.measured->device, "the job's machine");
  EXPECT_NEAR(times[0].forward.count(), 3000e-6, 1e-9);
  EXPECT_NEAR(times[0].weight.count(), 1000e-6, 1e-9);
  EXPECT_THROW(workload_of_job(JobLog()), InvalidArgument);
}

TEST(ExposureTest, WhatRunsBesideComputingIsHidden) {
  JobLog job;
  const int process = job.process("p");
  job.processes[0].rank = 1;
  job.communicator("c", "c", 2);
  const auto collective = [&](double start, double duration) {
    LogRecord& record = job.records.emplace_back();
    record.process = process;
    record.rank = 1;
    record.start_us = start;
    record.duration_us = duration;
  };
  collective(0, 100);
  collective(50, 100);   // overlaps the first: 150 in all
  collective(500, 100);  // 50 of it hidden
  job.computing = {{process, 20, 10}, {process, 25, 15}, {process, 400, 150}};
  const std::vector<Exposure> found = exposures_of(job, 2);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NE(found[0].exposed_us, found[0].exposed_us) << "not known";
  EXPECT_DOUBLE_EQ(found[1].communication_us, 250);
  EXPECT_DOUBLE_EQ(found[1].exposed_us, 250 - 20 - 50);
  EXPECT_TRUE(exposures_of(JobLog(), 2).empty());
}

// 1 MiB in 94 us is 17 GB/s, most of it latency; in 1.6 ms it is the network.
TEST(JobVerdictTest, OneSmallSizeIsSlowOnlyWithoutItsLatency) {
  ScriptedJob usual{.bytes = 1 << 20};
  ScriptedJob slow{.rate_gbs = 1, .bytes = 1 << 20};
  for (int i = 0; i < 20; ++i) {
    usual.operate(i, usual.on_time());
    slow.operate(i, slow.on_time());
  }
  const NetworkVerdict network = usual.verdict().network;
  EXPECT_EQ(network.state, NetworkState::unknown);
  EXPECT_THAT(network.unknown, HasSubstr("latency may be most of it"));
  EXPECT_EQ(slow.verdict().network.state, NetworkState::slow);
}

TEST(JobVerdictTest, WhatIsUsualButNotCertainCannotBeTold) {
  ScriptedJob job{.rate_gbs = 30};
  for (int i = 0; i < 20; ++i) job.operate(i, job.on_time());
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.network.state, NetworkState::unknown);
  EXPECT_THAT(verdict.network.unknown, HasSubstr("state --topo or --expect-busbw"));
}

}  // namespace
}  // namespace collbench

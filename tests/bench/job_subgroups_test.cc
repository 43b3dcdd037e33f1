// Verdicts about jobs whose ranks work in groups (tensor and data parallel ones), on several hosts.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/logs/job_lines.h"
#include "bench/logs/job_verdict.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr std::int64_t bytes = 26214400;

/// Processes of `gpus_per_host` GPUs a host, which say neither a rank in the job nor a clock.
struct GroupedJob {
  int gpus_per_host = 4;
  JobLog log{};

  /// Collectives of one group; `members` are processes, and `delay_us(operation, process)` how late
  /// each comes.
  void operate(const std::string& id, const std::vector<int>& members, double transfer_us,
               const std::function<double(int, int)>& delay_us, int operations = 12) {
    const auto ranks = static_cast<int>(members.size());
    const int communicator = log.communicator(id, id, ranks);
    for (int k = 0; k < operations; ++k) {
      double last = 0;
      for (const int process : members) last = std::max(last, delay_us(k, process));
      for (int rank = 0; rank < ranks; ++rank) {
        const int process = members[static_cast<std::size_t>(rank)];
        const std::string host = fmt::format("h{}", process / gpus_per_host);
        LogRecord& record = log.records.emplace_back();
        record.communicator = communicator;
        record.rank = rank;
        record.process = log.process(fmt::format("{} pid {}", host, 100 + process), host);
        record.kind = LoggedKind::all_reduce;
        record.sequence = k;
        record.bytes = bytes;
        record.duration_us = transfer_us + last - delay_us(k, process) + (k + rank) % 3;
      }
    }
  }
  JobVerdict verdict() { return judge_job(log, {}); }
};

double on_time(int, int) { return 0; }
std::function<double(int, int)> late(int process, double us) {
  return [=](int, int one) { return one == process ? us : 0; };
}

TEST(JobSubgroupsTest, WithoutACommunicatorOfAllTheLateProcessIsNamed) {
  GroupedJob job;
  job.operate("tp0", {0, 1, 2, 3}, 130, late(5, 3000));
  job.operate("tp1", {4, 5, 6, 7}, 130, late(5, 3000));
  const JobVerdict verdict = job.verdict();
  ASSERT_EQ(verdict.late(), 5);
  EXPECT_EQ(verdict.counted_ranks.at(5), "h1 pid 105");
  EXPECT_EQ(verdict.mean_wait_us.size(), 8U);
  EXPECT_LT(verdict.mean_wait_us[1], 10) << "of its own group only";
  EXPECT_THAT(verdict.causes.at(0).seen,
              HasSubstr("rank 5 (h1 pid 105) came last in 12 of the 12"));
  EXPECT_THAT(job.log.notes, ElementsAre(HasSubstr("from 0 (h0 pid 100) to 7 (h1 pid 107)")));
  EXPECT_THAT(job_answers({job.log, verdict, {}}).at(1).text,
              HasSubstr("late rank: 5 (h1 pid 105): last in 12 of 24"));
}

TEST(JobSubgroupsTest, AProcessOfTwoGroupsIsOneRank) {
  GroupedJob job;
  for (const int host : {0, 1}) {
    job.operate(fmt::format("tp{}", host), {4 * host, 4 * host + 1, 4 * host + 2, 4 * host + 3},
                130, on_time);
  }
  for (const int gpu : {0, 1, 2, 3}) {
    job.operate(fmt::format("dp{}", gpu), {gpu, gpu + 4}, 1144, late(6, 4000));
  }
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.late(), 6);
  EXPECT_EQ(verdict.duration_us.size(), 8U);
}

TEST(JobSubgroupsTest, ACommunicatorOfAllSaysTheRanksOfItsProcesses) {
  GroupedJob job;
  job.operate("world", {7, 6, 5, 4, 3, 2, 1, 0}, 500, on_time);
  job.operate("tp1", {4, 5, 6, 7}, 130, late(5, 3000));
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.late(), 2);
  EXPECT_THAT(verdict.counted_ranks, IsEmpty());
  EXPECT_THAT(job.log.notes, IsEmpty());
}

TEST(JobSubgroupsTest, AProcessThatDrivesSeveralRanksIsNoRankItself) {
  GroupedJob job;
  job.operate("world", {0, 1, 2, 3}, 500, late(2, 3000));
  for (LogRecord& record : job.log.records) record.process = record.rank / 2;
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.late(), 2);
  EXPECT_THAT(verdict.counted_ranks, IsEmpty());
}

TEST(JobSubgroupsTest, WaitingOfRankZeroIsOfWhatItTookPartIn) {
  GroupedJob job;
  job.operate("tp0", {0, 1, 2, 3}, 130, late(1, 3000));
  job.operate("tp1", {4, 5, 6, 7}, 130, late(5, 3000));
  job.operate("dp0", {0, 4}, 1144, on_time);
  job.operate("dp1", {1, 5}, 11440, on_time);
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.operations, 48);
  EXPECT_EQ(verdict.operations_of_rank0, 24);
  EXPECT_NEAR(verdict.transfer_us_of_rank0, 12 * (130 + 1144), 24);
  EXPECT_NEAR(verdict.duration_us.at(0) - verdict.transfer_us_of_rank0, 12 * 3000, 48);
}

TEST(JobSubgroupsTest, RanksOfOneHostThatComeLateTogetherAreNamedByIt) {
  GroupedJob job;
  const auto of_host = [](int operation, int process) {
    return process >= 4 ? 3000.0 + (operation % 4 == process % 4 ? 5 : 0) : 0;
  };
  job.operate("world", {0, 1, 2, 3, 4, 5, 6, 7}, 500, of_host);
  const JobVerdict verdict = job.verdict();
  EXPECT_THAT(verdict.lateness.late, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(verdict.lateness.host, "h1");
  EXPECT_THAT(job_answers({job.log, verdict, {}}).at(1).text,
              HasSubstr("4, 5, 6, 7, all ranks of host h1: last in"));
}

/// Four groups of two, a GPU of each host; their transfers in microseconds.
JobVerdict verdict_on_pairs(const std::vector<double>& transfers) {
  GroupedJob job;
  for (int gpu = 0; gpu < 4; ++gpu) {
    job.operate(fmt::format("dp{}", gpu), {gpu, gpu + 4}, transfers[static_cast<std::size_t>(gpu)],
                on_time);
  }
  return job.verdict();
}

TEST(JobSubgroupsTest, OfSeveralNetworksTheSlowOneIsNamedBesideTheHealthyOnes) {
  const NetworkVerdict slow = verdict_on_pairs({1144, 1144, 5264, 1144}).network;
  EXPECT_EQ(slow.state, NetworkState::slow);
  EXPECT_EQ(slow.where, "communicator 'dp2' on h0, h1");
  EXPECT_EQ(slow.healthy_others, 3);
}

TEST(JobSubgroupsTest, GroupsThatMayShareAdaptersAreNotSlowAtTheirPart) {
  // 26.2 MB in 2383 us are 11 GB/s, four times 44.
  const NetworkVerdict shared = verdict_on_pairs({2383, 2383, 2383, 2383}).network;
  EXPECT_EQ(shared.state, NetworkState::unknown);
  EXPECT_THAT(shared.unknown, HasSubstr("the job has 4 there"));
  // Where one alone is that slow, the others do not hide it.
  const NetworkVerdict one = verdict_on_pairs({1144, 1144, 2383, 1144}).network;
  EXPECT_EQ(one.state, NetworkState::unknown);
  EXPECT_EQ(one.where, "communicator 'dp2' on h0, h1");
}

// Rank 5 holds up rank 1 in their pair, which then comes late to its own host.
TEST(JobSubgroupsTest, WhomALateRankHoldsUpIsNotLateItself) {
  for (const bool has_world : {false, true}) {
    GroupedJob job;
    if (has_world) job.operate("world", {0, 1, 2, 3, 4, 5, 6, 7}, 2000, late(5, 3000));
    job.operate("tp0", {0, 1, 2, 3}, 130, late(1, 3000));
    job.operate("tp1", {4, 5, 6, 7}, 130, late(5, 3000));
    for (const int gpu : {0, 1, 2, 3}) {
      job.operate(fmt::format("dp{}", gpu), {gpu, gpu + 4}, 1144, late(5, 3000));
    }
    EXPECT_THAT(job.verdict().lateness.late, ElementsAre(5)) << has_world;
  }
}

TEST(JobSubgroupsTest, TwoThatAreLateInGroupsOfTheirOwnAreBothNamed) {
  GroupedJob job;
  for (const int gpu : {0, 1, 2, 3}) {
    const std::vector<int> pair = {gpu, gpu + 4};
    job.operate(fmt::format("dp{}", gpu), pair, 1144, late(gpu == 1 ? 1 : 6, 450));
  }
  const JobVerdict verdict = job.verdict();
  ASSERT_EQ(verdict.lateness.late.size(), 2U) << "behind a slow link two ranks end together";
  EXPECT_EQ(verdict.counted_ranks.at(verdict.lateness.late[0]), "h0 pid 101");
  EXPECT_EQ(verdict.counted_ranks.at(verdict.lateness.late[1]), "h1 pid 106");
  EXPECT_LE(verdict.lateness.blamed, verdict.lateness.waited);
}

TEST(JobSubgroupsTest, ARankThatIsLateInOneOfManyGroupsIsNamedThoughAllWaitLittle) {
  GroupedJob job{.gpus_per_host = 8};
  for (int gpu = 0; gpu < 16; ++gpu) {
    job.operate(fmt::format("dp{}", gpu), {gpu, gpu + 16}, 1144, late(5, 1100), 24);
  }
  const JobVerdict verdict = job.verdict();
  ASSERT_TRUE(verdict.late().has_value());
  EXPECT_EQ(verdict.counted_ranks.at(*verdict.late()), "h0 pid 105");
  EXPECT_GT(verdict.lateness.waiting_share, 0.9) << "in its group";
  EXPECT_LE(verdict.lateness.blamed, verdict.lateness.waited);
}

TEST(JobSubgroupsTest, TwoRunsOfTheSameProcessesAreSeveralRuns) {
  GroupedJob job;
  job.operate("world", {0, 1, 2, 3}, 500, on_time);
  job.operate("world", {0, 1, 2, 3}, 900, on_time);
  EXPECT_THAT(job.verdict().lateness.unknown, HasSubstr("h0 pid 100 is twice rank 0 of 'world'"));
  GroupedJob copied;
  copied.operate("world", {0, 1, 2, 3}, 500, late(2, 3000));
  copied.operate("world", {0, 1, 2, 3}, 500, late(2, 3000));
  EXPECT_EQ(copied.verdict().late(), 2) << "the same file twice";
}

TEST(JobSubgroupsTest, TwoReportsOfWholeRunsAreSeveralRuns) {
  for (const std::string_view format : {"mpiP", "Horovod timeline", "Inspector"}) {
    GroupedJob job;
    job.operate("first", {0, 1, 2, 3}, 500, late(2, 3000));
    job.operate("second", {0, 1, 2}, 500, late(2, 3000));
    for (JobCommunicator& one : job.log.communicators) one.format = format;
    const Lateness found = job.verdict().lateness;
    if (format == "Inspector") {
      EXPECT_THAT(found.late, ElementsAre(2)) << "of groups";
    } else {
      EXPECT_THAT(found.unknown, HasSubstr("one of 4 ranks of first and one of 3 of second"));
    }
  }
}

TEST(JobSubgroupsTest, AMeanDoesNotSayHowOften) {
  GroupedJob job;
  job.operate("world", {0, 1, 2, 3}, 500, late(2, 3000), 1);
  for (LogRecord& record : job.log.records) record.count = 6000;
  const JobVerdict verdict = job.verdict();
  EXPECT_EQ(verdict.late(), 2);
  EXPECT_THAT(verdict.causes.at(0).seen, HasSubstr("came last in the mean of 6000 operations"));
  EXPECT_LE(verdict.causes.at(0).sure, 0.9);
}

}  // namespace
}  // namespace collbench

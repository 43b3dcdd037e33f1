// Jobs whose operations depend on each other, of known truth: nobody is accused of what chance or
// another rank did, and a rank that is late is named or left open, never denied.
#include "bench/logs/lateness_chance.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/job_logged.h"

#include "bench/logs/job_verdict.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t bytes_of_bucket = 26214400;
constexpr double transfer_of_bucket_us = 1000;

struct RanksOfGroup {
  std::string name = "world";
  std::vector<int> members{};  // ranks of the job
};

RanksOfGroup group_of_all(int ranks) {
  RanksOfGroup group;
  for (int rank = 0; rank < ranks; ++rank) group.members.push_back(rank);
  return group;
}

/// One operation that all end together; `arrival_us` by place in the group.
void add_late_operation(JobLog& job, const RanksOfGroup& group, int sequence,
                        const std::vector<double>& arrival_us,
                        LoggedKind kind = LoggedKind::all_reduce) {
  const double last = *std::max_element(arrival_us.begin(), arrival_us.end());
  const auto ranks = static_cast<int>(group.members.size());
  for (int place = 0; place < ranks; ++place) {
    const auto p = static_cast<std::size_t>(place);
    const int rank = group.members[p];
    LogRecord& record = job.records.emplace_back();
    record.communicator = job.communicator(group.name, group.name, ranks);
    record.rank = place;
    record.process = job.process(fmt::format("pid {}", rank));
    job.processes[static_cast<std::size_t>(record.process)].rank = rank;
    record.kind = kind;
    record.sequence = sequence;
    record.bytes = kind == LoggedKind::barrier ? 0 : bytes_of_bucket;
    record.duration_us = transfer_of_bucket_us + last - arrival_us[p];
  }
}

/// Five buckets a step, to which each rank computes 3 ms, some percent more or less in each bucket
/// and in the whole step: who is slow in a step comes last to all of its buckets.
Lateness healthy_steps(int ranks, int steps, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> of_bucket(0, 0.03);
  std::normal_distribution<double> of_step(0, 0.02);
  JobLog job;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> pace;
    for (int rank = 0; rank < ranks; ++rank) pace.push_back(1 + of_step(random));
    std::vector<double> arrival(static_cast<std::size_t>(ranks), 0);
    for (int bucket = 0; bucket < 5; ++bucket) {
      for (std::size_t r = 0; r < arrival.size(); ++r) {
        arrival[r] += 3000 * pace[r] * (1 + of_bucket(random));
      }
      add_late_operation(job, group_of_all(ranks), 5 * step + bucket, arrival);
    }
  }
  return judge_job(job, {}).lateness;
}

TEST(LatenessChanceTest, BucketsOfAFewStepsAreNoIndependentDraws) {
  int accused = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    for (const int steps : {3, 5}) {
      for (const int ranks : {16, 32}) {
        accused += healthy_steps(ranks, steps, seed).late.empty() ? 0 : 1;
      }
    }
  }
  EXPECT_LE(accused, 1) << "of 48 healthy jobs";
}

/// Some 0.3 ms of jitter, and pauses of `us` that hold a rank up in the bucket of that number.
Lateness with_pauses(int ranks, int operations, double us,
                     const std::function<int(int operation)>& paused_rank) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> jitter(0, 300);
  JobLog job;
  for (int k = 0; k < operations; ++k) {
    std::vector<double> arrival;
    for (int rank = 0; rank < ranks; ++rank) {
      arrival.push_back(jitter(random) + (paused_rank(k) == rank ? us : 0));
    }
    add_late_operation(job, group_of_all(ranks), k, arrival);
  }
  return judge_job(job, {}).lateness;
}

TEST(LatenessChanceTest, RanksThatPauseOnceEachAreNotLateByTurns) {
  const Lateness found =
      with_pauses(64, 200, 250e3, [](int k) { return k % 50 == 20 ? 16 + k / 50 : -1; });
  EXPECT_THAT(found.late, IsEmpty());
  EXPECT_THAT(found.unknown, HasSubstr("too few to tell a late rank from chance"));
}

TEST(LatenessChanceTest, ARankThatIsLateBySecondsNowAndThenIsNamedAlone) {
  const Lateness found = with_pauses(8, 200, 1e6, [](int k) { return k % 40 == 20 ? 2 : -1; });
  EXPECT_THAT(found.late, ElementsAre(2));
  EXPECT_TRUE(found.sporadic());
  const Lateness once = with_pauses(8, 200, 1e6, [](int k) { return k == 20 ? 2 : -1; });
  EXPECT_THAT(once.late, IsEmpty());
  EXPECT_THAT(once.unknown, HasSubstr("for rank 2")) << "not denied";
}

// Tensor groups of 4 by data groups of 4: whom rank 3 holds up in its tensor group, it makes come
// late to their data groups.
TEST(LatenessChanceTest, TheRankThatHoldsUpItsTensorGroupIsNamed) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> jitter(0, 60);
  JobLog job;
  for (int step = 0; step < 20; ++step) {
    for (int group = 0; group < 4; ++group) {
      RanksOfGroup tensor{fmt::format("tensor{}", group), {}};
      RanksOfGroup data{fmt::format("data{}", group), {}};
      std::vector<double> compute;
      std::vector<double> end_of_tensor;
      for (int i = 0; i < 4; ++i) {
        tensor.members.push_back(4 * group + i);
        compute.push_back(jitter(random) + (4 * group + i == 3 ? 1500 : 0));
        data.members.push_back(4 * i + group);
        end_of_tensor.push_back(jitter(random) + (i == 0 ? 1500 : 0));
      }
      add_late_operation(job, tensor, step, compute);
      add_late_operation(job, data, step, end_of_tensor);
    }
  }
  EXPECT_THAT(judge_job(job, {}).lateness.late, ElementsAre(3));
}

TEST(LatenessChanceTest, BarriersShowALateRankAndBroadcastsForbidToDenyOne) {
  const auto with = [](LoggedKind kind) {
    JobLog job;
    std::vector<double> even(8, 0);
    std::vector<double> late(8, 0);
    late[3] = 4000;
    for (int k = 0; k < 20; ++k) {
      add_late_operation(job, group_of_all(8), k, even);
      add_late_operation(job, group_of_all(8), k, late, kind);
    }
    return judge_job(job, {}).lateness;
  };
  EXPECT_THAT(with(LoggedKind::barrier).late, ElementsAre(3));
  EXPECT_THAT(with(LoggedKind::all_to_all).late, ElementsAre(3));
  const Lateness broadcast = with(LoggedKind::broadcast);
  EXPECT_THAT(broadcast.late, IsEmpty());
  EXPECT_THAT(broadcast.unknown, HasSubstr("(broadcast)"));
}

TEST(LatenessChanceTest, InAPipelineTheLastStageToEndIsNotCalledLate) {
  JobLog job;
  for (int k = 0; k < 20; ++k) {
    add_late_operation(job, group_of_all(8), k, {3000, 3010, 2000, 2010, 1000, 1010, 0, 10});
  }
  JobLog with_sends = job;
  with_sends.has_sends = true;
  EXPECT_THAT(judge_job(with_sends, {}).lateness.late, IsEmpty());
  EXPECT_THAT(judge_job(with_sends, {}).lateness.unknown, HasSubstr("pipeline"));
}

TEST(LatenessChanceTest, MeansSayNeitherThatNobodyIsLateNorThatTheNetworkIsSlow) {
  JobLog job;
  // By turns each comes 3 ms late: in the mean all are alike.
  for (int k = 0; k < 4; ++k)
    add_late_operation(job, group_of_all(8), k, std::vector<double>(8, 0));
  for (LogRecord& record : job.records) {
    record.duration_us += 3000;
    record.count = 1000;
  }
  job.communicators[0].nodes = 2;
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_THAT(verdict.lateness.unknown, HasSubstr("means"));
  EXPECT_EQ(verdict.network.state, NetworkState::unknown);
  EXPECT_THAT(verdict.network.unknown, HasSubstr("means"));
}

TEST(NetworkOfKindsTest, AKindThatIsSurelySlowIsNotHiddenByAnother) {
  JobLog job;
  for (int k = 0; k < 20; ++k) {
    add_late_operation(job, group_of_all(8), k, std::vector<double>(8, 0), LoggedKind::all_gather);
    add_late_operation(job, group_of_all(8), k, std::vector<double>(8, 0),
                       LoggedKind::reduce_scatter);
  }
  for (LogRecord& record : job.records) {
    const bool gathers = record.kind == LoggedKind::all_gather;
    record.bytes = gathers ? 6 << 20 : 5 << 20;
    record.duration_us = gathers ? 1000 : 6000;
  }
  job.communicators[0].nodes = 2;
  const NetworkVerdict network = judge_job(job, {}).network;
  EXPECT_EQ(network.state, NetworkState::slow);
  EXPECT_THAT(network.where, HasSubstr("the reduce-scatters of"));
}

TEST(NetworkOfKindsTest, ASizeThatTakesLongerThanALargerOneIsACause) {
  JobLog job;
  for (int k = 0; k < 20; ++k) {
    add_late_operation(job, group_of_all(8), k, std::vector<double>(8, 0));
  }
  for (LogRecord& record : job.records) {
    if (record.sequence % 2 == 0) continue;
    record.bytes = 8 << 20;
    record.duration_us = 3700;
  }
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_EQ(verdict.network.state, NetworkState::healthy);
  EXPECT_THAT(verdict.network.odd_size, HasSubstr("all-reduces of 8 MiB take 3700 us"));
  EXPECT_FALSE(verdict.is_healthy());
}

// Rank 3 is started again: its new process is in a communicator with the others' old ones.
TEST(RestartedProcessTest, ItsRankIsThatOfTheProcessBefore) {
  JobLog job;
  for (int k = 0; k < 20; ++k) {
    std::vector<double> arrival(8, 0);
    arrival[5] = 2000;
    RanksOfGroup group = group_of_all(8);
    if (k >= 10) group.name = "again";
    add_late_operation(job, group, k % 10, arrival);
  }
  for (JobProcess& process : job.processes) process.rank = -1;
  for (LogRecord& record : job.records) {
    const bool is_again =
        job.communicators[static_cast<std::size_t>(record.communicator)].id == "again";
    if (is_again && record.rank == 3) record.process = job.process("pid 77");
  }
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_THAT(verdict.lateness.late, ElementsAre(5));
  EXPECT_EQ(verdict.mean_wait_us.size(), 8U);
}

TEST(MpipTest, CommunicatorsOfSeveralSizesAtOneSiteAreNotCompared) {
  JobLog job = job_logged(
      "@ mpiP\n@ Version: 3.5.0\n"
      "@ MPI Task Assignment       : 0 a\n@ MPI Task Assignment       : 1 a\n"
      "@ MPI Task Assignment       : 2 b\n@ MPI Task Assignment       : 3 b\n"
      "@--- Aggregate Collective Time (top twenty, descending) ---\n"
      "Allreduce              100          2 -        3    4194304 -  8388607\n"
      "@--- Callsite Time statistics (all, milliseconds): 4 ---\n"
      "Allreduce            1    0     30    0.518    0.258    0.176  10.00  10.00\n"
      "Allreduce            1    1     30    0.526    0.265    0.174  10.00  10.00\n"
      "Allreduce            1    2     30    0.911    2.665    0.524  10.00  10.00\n"
      "Allreduce            1    3     30    0.818    2.625    0.513  10.00  10.00\n"
      "@--- Callsite Message Sent statistics (all, sent bytes) ---\n"
      "Allreduce            1    0     30  4.194e+06  4.194e+06  4.194e+06  1.258e+08\n");
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_THAT(verdict.lateness.late, IsEmpty());
  EXPECT_THAT(verdict.lateness.unknown, HasSubstr("several communicators"));
}

TEST(MpipTest, BytesOfMoreCallsThanAnyJobMakesEndAtALimit) {
  const auto job_of = [](std::int64_t calls) {
    return job_logged(fmt::format(
        "@ mpiP\n@ Version: 3.5.0\n@ MPI Task Assignment       : 0 a\n"
        "@--- Callsite Time statistics (all, milliseconds): 1 ---\n"
        "Allreduce            1    0  {0}    0.518    0.258    0.176  10.00  10.00\n"
        "Allreduce            2    0  {0}    0.518    0.258    0.176  10.00  10.00\n"
        "@--- Callsite Message Sent statistics (all, sent bytes) ---\n"
        "Allreduce            1    0  {0}  4.194e+06  4.194e+06  4.194e+06  1.258e+08\n"
        "Allreduce            2    0  {0}  4.194e+06  4.194e+06  4.194e+06  1.258e+08\n",
        calls));
  };
  JobLog most = job_of(most_logged_calls);
  EXPECT_EQ(judge_job(most, {}).operations, 2 * most_logged_calls);
  EXPECT_EQ(judge_job(most, {}).bytes, std::int64_t{1} << 62);
  EXPECT_THAT(job_of(most_logged_calls + 1).records, IsEmpty());
}

}  // namespace
}  // namespace collbench

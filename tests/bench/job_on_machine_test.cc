// Networks of jobs against machines that the user names, and against each other.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/logs/job_lines.h"
#include "bench/logs/job_replay.h"
#include "bench/logs/job_report.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* two_nodes = "cluster:2xdgx-h100";

std::vector<int> ranks_to(int end) {
  std::vector<int> ranks;
  for (int rank = 0; rank < end; ++rank) ranks.push_back(rank);
  return ranks;
}

/// Processes that are ranks of one job of 16, of which nothing says the hosts.
struct JobOfRanks {
  JobLog log{};
  LoggedKind kind = LoggedKind::all_reduce;
  std::int64_t bytes = 256 << 20;

  /// Twelve collectives of `gbs` on the bus; `heard` of the ranks have logs.
  JobCommunicator& operate(const std::string& id, const std::vector<int>& members, double gbs,
                           std::size_t heard = 16) {
    const auto all = static_cast<int>(members.size());
    const int communicator = log.communicator(id, id, all);
    const double us = bus_factor(kind, all) * static_cast<double>(bytes) / gbs * 1e-3;
    for (int k = 0; k < 12; ++k) {
      for (std::size_t rank = 0; rank < std::min(members.size(), heard); ++rank) {
        LogRecord& record = log.records.emplace_back();
        record.communicator = communicator;
        record.rank = static_cast<int>(rank);
        record.process = log.process(fmt::format("pid {}", members[rank]));
        log.processes[static_cast<std::size_t>(record.process)].rank = members[rank];
        record.kind = kind;
        record.sequence = k;
        record.bytes = bytes;
        record.duration_us = us + (k + record.rank) % 3;
      }
    }
    return log.communicators[static_cast<std::size_t>(communicator)];
  }
  NetworkVerdict network(const std::string& topology = two_nodes) {
    NetworkExpectation expectation;
    expectation.topology = topology;
    return judge_job(log, expectation).network;
  }
};

// 46 GB/s are an adapter of 400 Gb/s; inside one node NVLink has 350.
TEST(JobOnMachineTest, AGroupIsWhereItsMembersAre) {
  for (const bool is_across : {true, false}) {
    JobOfRanks job;
    const std::vector<int> members = {0, is_across ? 8 : 1};
    job.operate("dp", members, 46).members = members;
    const NetworkVerdict network = job.network();
    EXPECT_EQ(network.state, is_across ? NetworkState::healthy : NetworkState::slow);
    EXPECT_THAT(network.basis, HasSubstr("predicted on cluster:2xdgx-h100 for 256 MiB"));
    const JobVerdict verdict = judge_job(job.log, {});
    const ChoiceOnMachine choice = choices_on(two_nodes, job.log, verdict).at(0);
    EXPECT_EQ(choice.best.starts_with("nvls"), !is_across) << choice.best;
  }
}

// The log says two hosts: NVLink, by which one node would be judged, is not between them.
TEST(JobOnMachineTest, HostsThatAMachineOfOneNodeDoesNotHaveAreJudgedWithoutIt) {
  JobOfRanks job;
  JobCommunicator& one = job.operate("dp", ranks_to(4), 46, 4);
  one.nodes = 2;
  const NetworkVerdict network = job.network("dgx-h100");
  EXPECT_NE(network.state, NetworkState::slow);
  EXPECT_THAT(network.unknown, HasSubstr("dgx-h100 is one node; 2 of them are cluster:2xdgx-h100"));
  EXPECT_THAT(choices_on("dgx-h100", job.log, judge_job(job.log, {})), IsEmpty());
}

TEST(JobOnMachineTest, AGroupThatMayBeAnywhereCannotBeTold) {
  JobOfRanks job;
  JobOfRanks slow;
  for (int gpu = 0; gpu < 8; ++gpu) {
    job.operate(fmt::format("dp{}", gpu), {gpu, gpu + 8}, 46);
    slow.operate(fmt::format("dp{}", gpu), {gpu, gpu + 8}, 0.5);
  }
  const NetworkVerdict network = job.network();
  EXPECT_EQ(network.state, NetworkState::unknown);
  EXPECT_THAT(network.unknown,
              HasSubstr("on which nodes of the machine its ranks are is not said"));
  EXPECT_THAT(choices_on(two_nodes, job.log, judge_job(job.log, {})), IsEmpty());
  NetworkExpectation expectation;
  expectation.topology = two_nodes;
  const JobVerdict surely = judge_job(slow.log, expectation);
  EXPECT_EQ(surely.network.state, NetworkState::slow) << "wherever they are";
  EXPECT_THAT(job_answers({slow.log, surely, {}}).at(0).text, HasSubstr("is not said; assumed is"));
}

TEST(JobOnMachineTest, AnUnevenGroupLeavesTheOthersTheirVerdict) {
  JobOfRanks job;
  job.operate("world", ranks_to(16), 390).nodes = 2;
  job.operate("embedding", {0, 7, 15}, 44).nodes = 2;
  const NetworkVerdict network = job.network();
  EXPECT_EQ(network.state, NetworkState::healthy);
  EXPECT_EQ(network.where, "communicator 'world'");
  JobOfRanks alone;
  alone.operate("embedding", {0, 7, 15}, 44).nodes = 2;
  EXPECT_THAT(alone.network().unknown, HasSubstr("its 3 ranks are not spread evenly over nodes"));
  JobOfRanks by_members;
  by_members.operate("three and one", {0, 1, 2, 8}, 44).members = {0, 1, 2, 8};
  EXPECT_THAT(by_members.network().unknown,
              HasSubstr("its 4 ranks are not spread evenly over nodes"));
}

TEST(JobOnMachineTest, AllGathersAndReduceScattersAreJudgedByTheMachineToo) {
  for (const LoggedKind kind : {LoggedKind::all_gather, LoggedKind::reduce_scatter}) {
    for (const double gbs : {40.0, 340.0}) {
      JobOfRanks job{.kind = kind, .bytes = 16 << 20};
      job.operate("world", ranks_to(16), gbs).nodes = 2;
      const NetworkVerdict network = job.network();
      EXPECT_EQ(network.state, gbs < 100 ? NetworkState::slow : NetworkState::healthy) << gbs;
      EXPECT_FALSE(network.assumed);
      EXPECT_GT(network.expected_gbs, 250) << "of 8 adapters of 400 Gb/s a node";
    }
  }
}

// The ranks without logs may hold up the others; but 0.2 GB/s are no sign of health.
TEST(JobOnMachineTest, AHealthyGroupDoesNotHideOneThatIsInDoubt) {
  JobOfRanks job;
  job.operate("first", {0, 8}, 40).nodes = 2;
  job.operate("second", {1, 2, 3, 4, 5, 6, 7, 9}, 0.2, 4).nodes = 8;
  const NetworkVerdict network = job.network("");
  EXPECT_EQ(network.state, NetworkState::unknown);
  EXPECT_EQ(network.where, "communicator 'second'");
  EXPECT_EQ(network.healthy_others, 1);
  EXPECT_THAT(network.unknown, HasSubstr("only 4 of 8 ranks have logs"));
  for (LogRecord& record : job.log.records) record.count = 100;
  EXPECT_THAT(job.network("").unknown, HasSubstr("only 4 of 8")) << "means";
}

TEST(JobOnMachineTest, ARecordedStepIsReplayedWhateverItsSizes) {
  JobOfRanks job;
  for (const std::int64_t bytes : {8388610, 2}) {
    job.bytes = bytes;
    job.operate("world", {0, 1}, 40);
  }
  for (std::size_t i = 0; i < job.log.records.size(); ++i) {
    LogRecord& record = job.log.records[i];
    record.sequence = 2 * record.sequence + (record.bytes == 2 ? 1 : 0);
  }
  const JobVerdict verdict = judge_job(job.log, {});
  const ReplayedJob replayed = replayed_job(job.log, verdict);
  ASSERT_EQ(replayed.transfers.size(), 2U);
  EXPECT_NEAR(replayed.transfers[0].count(), 210e-6, 2e-6);
  EXPECT_LT(replayed.transfers[1].count(), 3e-6);
}

}  // namespace
}  // namespace collbench

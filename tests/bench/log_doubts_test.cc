// Logs of healthy jobs in which something looks like a fault: nothing is said, or that it cannot be
// told.
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/job_logged.h"
#include "tests/bench/mpi_profiled.h"

#include "bench/logs/job_verdict.h"
#include "bench/logs/log_readers.h"
#include "bench/records/record_json.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::string inspector_record(const std::string& call, int rank, int ranks, int sequence, double us,
                             int bytes = 4 << 20) {
  // Inspector's rate of an all-gather is that of the parts of all ranks.
  const double of_rate = call.starts_with("AllGather") ? 1. * ranks * bytes : bytes;
  return fmt::format(
      R"({{"header":{{"id":"0x1","rank":{},"n_ranks":{},"nnodes":2}},"metadata":{{)"
      R"("inspector_output_format_version":"v4.0","hostname":"h{}","pid":{}}},"coll_perf":{{)"
      R"("coll":"{}","coll_sn":{},"coll_msg_size_bytes":{},"coll_exec_time_us":{},)"
      R"("coll_algobw_gbs":{:.6f},"coll_timing_source":"kernel_gpu"}}}})"
      "\n",
      rank, ranks, rank % 2, 100 + rank, call, sequence, bytes, us, of_rate / us * 1e-3);
}

TEST(InspectorTest, TheRateOfAThousandRanksIsNoOtherUnitOfTime) {
  for (const int ranks : {1000, 1024}) {
    JobLog job;
    read_log(inspector_record("AllGather", 0, ranks, 0, 500), "a", job);
    EXPECT_EQ(job.records.size(), 1U) << ranks;
    EXPECT_THAT(job.left_out, IsEmpty()) << ranks;
  }
}

TEST(InspectorTest, NumbersOfDifferentFunctionsAreNotThoseOfOne) {
  JobLog job;
  for (int rank = 0; rank < 2; ++rank) {
    for (const char* call : {"AllGather", "AllGatherV", "Gather", "Scatter"}) {
      for (int k = 0; k < 4; ++k) {
        const int bytes = std::string(call) == "AllGather" ? 4 << 20 : 1 << 20;
        read_log(inspector_record(call, rank, 2, k, 500 + rank, bytes), "a", job);
      }
    }
  }
  judge_job(job, {});
  EXPECT_EQ(job.mixed, "");
  EXPECT_THAT(job.left_out, IsEmpty());
}

// The first bucket of each step waits for a late rank, the large ones follow at once.
TEST(NetworkOfSomeRanksTest, ASizeThatMayHoldWaitingIsNoWrongSwitch) {
  JobLog job;
  for (int k = 0; k < 24; ++k) {
    add_record(job, "world", 4, 0, k, k % 2 == 0 ? 4300 : 900);
    job.records.back().bytes = k % 2 == 0 ? 8 << 20 : 25 << 20;
  }
  EXPECT_EQ(judge_job(job, {}).network.odd_size, "");
}

TEST(NetworkOfSomeRanksTest, InsideOneHostNoFlowsCollide) {
  for (const int nodes : {1, 2}) {
    JobLog job;
    for (int k = 0; k < 40; ++k) {
      for (int rank = 0; rank < 2; ++rank) {
        add_record(job, "world", 2, rank, k, k % 4 == 0 ? 3000 : 1000);
      }
    }
    job.communicators[0].nodes = nodes;
    EXPECT_EQ(judge_job(job, {}).network.disturbed, nodes == 1 ? 0 : 10);
  }
}

struct ProfiledEvent {
  std::string category;
  int sequence = 0;
  double us = 0;
};

std::string profiler_trace(int pid, int rank, const std::string& communicator,
                           const std::vector<ProfiledEvent>& events) {
  std::string text = "[\n";
  for (const ProfiledEvent& event : events) {
    const std::string name = event.category == "P2P" ? "Send" : "AllReduce";
    text += fmt::format(
        R"({{"name": "{0}", "cat": "{1}", "ph": "b", "pid": {2}, "args": {{"SeqNum": {3}, )"
        R"("CommHash": {4}, "Rank": {5}, "Count": 1048576, "Datatype": "ncclFloat32"}}}},)"
        R"({{"name": "KernelCh", "cat": "GPU", "ph": "b", "pid": {2}, "args": {{"Channel": 0, )"
        R"("StartGpuClk": {6}, "StopGpuClk": {7}}}}},)"
        R"({{"name": "{0}", "cat": "{1}", "ph": "e", "pid": {2}}},)"
        "\n",
        name, event.category, pid, event.sequence, communicator, rank, event.sequence * 10'000'000,
        event.sequence * 10'000'000 + static_cast<int>(1000 * event.us));
  }
  return text + "{}]";
}

TEST(NcclProfilerTest, TheKernelOfASendIsNotOfTheCollectiveBeforeIt) {
  JobLog job;
  read_log(profiler_trace(7, 0, "9", {{"COLL", 0, 900}, {"P2P", 5, 300}, {"COLL", 6, 800}}), "t",
           job);
  ASSERT_EQ(job.records.size(), 2U);
  EXPECT_DOUBLE_EQ(job.records[0].duration_us, 900);
  EXPECT_DOUBLE_EQ(job.records[1].duration_us, 800);
}

TEST(NcclProfilerTest, ProcessesOfOneNumberOnSeveralHostsAreSeveral) {
  JobLog job;
  for (int node = 0; node < 2; ++node) {
    for (int gpu = 0; gpu < 2; ++gpu) {
      const std::string inside = std::to_string(50 + node);
      const std::string across = std::to_string(70 + gpu);
      read_log(profiler_trace(100 + gpu, gpu, inside, {{"COLL", 0, 900}}), "a", job);
      read_log(profiler_trace(100 + gpu, node, across, {{"COLL", 0, 900}}), "b", job);
    }
  }
  part_processes_of_one_number(job);
  const JobRanks ranks(job);
  EXPECT_EQ(ranks.counted().size(), 8U) << "which are one, nothing says";
}

/// Of `collbench run --rank-times`.
JobLog job_of_run(const Case& point, const std::vector<std::int64_t>& ns) {
  Record record;
  record.point = point;
  record.measurement.rank_time_ns = ns;
  record.measurement.latency_ns.assign(ns.size() / static_cast<std::size_t>(point.workers), 1000);
  RecordFile file;
  file.records = {record};
  return job_logged(to_json(file));
}

TEST(OwnRecordsTest, WhatWasRunIsWhatIsRead) {
  Case point;
  point.algorithm = "ring";
  point.backend = "shm";
  point.workers = 4;
  point.bytes = Bytes{4096};
  point.collective = CollectiveKind::all_gather;
  const JobLog gathers = job_of_run(point, {1000, 1000, 1000, 1000});
  EXPECT_EQ(gathers.records[0].kind, LoggedKind::all_gather);
  EXPECT_EQ(gathers.records[0].bytes, 1024) << "the part of one rank";

  point.collective = CollectiveKind::all_reduce;
  point.groups = "2x2";
  std::vector<std::int64_t> ns;
  for (int k = 0; k < 12; ++k) ns.insert(ns.end(), {1'000'000, 1'000'000, 3'000'000, 3'000'000});
  JobLog groups = job_of_run(point, ns);
  EXPECT_EQ(groups.communicators.size(), 2U);
  EXPECT_THAT(groups.communicators[1].members, UnorderedElementsAre(2, 3));
  EXPECT_THAT(judge_job(groups, {}).lateness.late, IsEmpty());
}

// NCCL counts sends and receives as well: ranks that send run ahead.
TEST(NcclDebugTest, CollectivesBesideSendsAreNumberedByTheirOrder) {
  std::string log;
  for (int rank = 0; rank < 2; ++rank) {
    log += fmt::format(
        "h:{0}:{0} [0] NCCL INFO ncclCommInitRank comm 0x{0} rank {1} nranks 2 "
        "cudaDev 0 busId 1 commId 0xabc - Init COMPLETE\n",
        100 + rank, rank);
    const auto line = [&](const char* call, int number) {
      log += fmt::format(
          "h:{0}:{0} [0] NCCL INFO {1}: opCount {2:x} sendbuff 0x1 recvbuff 0x2 "
          "count 1000 datatype 7 op 0 root 0 comm 0x{0} [nranks=2] stream 0x5\n",
          100 + rank, call, number);
    };
    int number = 0;
    for (int k = 0; k < 5; ++k) {
      if (rank == 0) line("Send", number++);
      line("AllReduce", number++);
    }
  }
  JobLog job = job_logged(log);
  number_in_order(job);
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_EQ(verdict.operations, 5);
  EXPECT_THAT(verdict.standstill.behind, IsEmpty());
}

/// Profiles of ranks that were killed after ten hours, of which rank 0 came 20 ms late to each
/// call; the clocks of two hosts differ by one millionth.
std::vector<Profile> killed_after_hours() {
  std::vector<Profile> profiles;
  for (int rank = 0; rank < 4; ++rank) {
    Profile& one = profiles.emplace_back(rank);
    one.header.finished = 0;
    one.header.clocks = {{{0, 0, 20'000}, {0, 0, -1}}};
    for (std::int64_t step = 1; step <= 40; ++step) {
      const std::int64_t at = step * 900'000'000;
      one.add(at + (rank == 0 ? 20'000 : 0) - (rank < 2 ? at / 1'000'000 : 0),
              rank == 0 ? 2'000 : 22'000);
    }
  }
  return profiles;
}

TEST(MpiProfileTest, AClockThatWasComparedHoursAgoTellsNothing) {
  JobLog job = job_of(killed_after_hours());
  EXPECT_TRUE(std::isnan(job.processes[0].clock_error_us));
  EXPECT_THAT(judge_job(job, {}).lateness.late, ElementsAre(0));
}

TEST(MpiProfileTest, NobodyWaitsLongerThanItsOwnCallTook) {
  JobLog job;
  for (int k = 0; k < 12; ++k) {
    for (int rank = 0; rank < 4; ++rank) {
      add_record(job, "world", 4, rank, k, rank == 0 ? 2'000 : 22'000);
      // Rank 0 begins 20 ms after the others, by a clock that is 30 ms behind.
      job.records.back().start_us = 1e6 * k + (rank == 0 ? -10'000 : 0);
    }
  }
  for (JobProcess& process : job.processes) process.clock_error_us = 20;
  EXPECT_EQ(judge_job(job, {}).late(), 0);
}

// In MPI_Wait for what rank 1 never began; nothing of it is recorded.
TEST(MpiProfileTest, OfProcessesThatWereKilledWhoMadeFewerCallsIsBehind) {
  std::vector<Profile> profiles = killed_after_hours();
  for (const std::size_t rank : {0U, 2U, 3U}) {
    profiles[rank].add(40'000'000'000, 0);
    profiles[rank].calls.back().non_blocking = 1;
    profiles[rank].calls.back().duration_ns = -1;
  }
  JobLog job = job_of(profiles);
  EXPECT_THAT(judge_job(job, {}).standstill.behind, ElementsAre(1));
}

}  // namespace
}  // namespace collbench

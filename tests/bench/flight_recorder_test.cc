// Flight Recorder's dumps of healthy jobs that look like sick ones: coalesced calls, groups that
// were made anew, all-to-alls of unlike parts.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/logs/job_verdict.h"
#include "bench/logs/log_readers.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Call {
  std::string name;
  int sequence = 0;  // of collectives
  int transfer = 0;  // and of sends and receives
  std::string state = "completed";
  bool is_transfer = false;
  int in = 1000, out = 1000;  // elements
  double ms = 0;
};

std::string entry_of(const Call& call) {
  return fmt::format(
      R"({{"process_group": ["0", "world"], "profiling_name": "nccl:{}", "collective_seq_id": {}, )"
      R"("p2p_seq_id": {}, "state": "{}", "is_p2p": {}, "input_sizes": [[{}]], "output_sizes": )"
      R"([[{}]], "input_dtypes": ["Float"], "output_dtypes": ["Float"]{}}})",
      call.name, call.sequence, call.transfer, call.state, call.is_transfer, call.in, call.out,
      call.ms > 0 ? fmt::format(R"(, "duration_ms": {})", call.ms) : "");
}

void dump(int rank, const std::vector<Call>& calls, JobLog& job, int ranks = 4) {
  std::vector<std::string> entries;
  for (const Call& call : calls) entries.push_back(entry_of(call));
  std::vector<int> members;
  for (int r = 0; r < ranks; ++r) members.push_back(r);
  read_log(
      fmt::format(R"({{"version": "2.10", "pg_config": {{"0": {{"name": "0", "desc": "world", )"
                  R"("ranks": "[{}]"}}}}, "entries": [{}]}})",
                  fmt::join(members, ", "), fmt::join(entries, ", ")),
      fmt::format("fr_{}.json", rank), job);
}

// PyTorch's test_batched_send_recv: the entries of a coalesced group have no events of their own.
std::vector<Call> stage_of_pipeline(int rank, const std::string& last_state) {
  std::vector<Call> calls;
  for (int step = 0; step < 3; ++step) {
    const std::string state = step == 2 ? last_state : "completed";
    calls.push_back(
        {fmt::format("send {}->{}", rank, 1 - rank), step, step + 1, "scheduled", true});
    calls.push_back(
        {fmt::format("recv {}<-{}", rank, 1 - rank), step, step + 1, "scheduled", true});
    calls.push_back({"coalesced", step, step + 1, state, true});
  }
  return calls;
}

TEST(FlightRecorderTest, CoalescedTransfersHaveTheStateOfTheEntryThatClosesThem) {
  JobLog job;
  for (const int rank : {0, 1}) dump(rank, stage_of_pipeline(rank, "completed"), job, 2);
  EXPECT_THAT(job.open_transfers, IsEmpty());
  EXPECT_TRUE(judge_job(job, {}).is_healthy());

  JobLog stuck;
  for (const int rank : {0, 1}) dump(rank, stage_of_pipeline(rank, "started"), stuck, 2);
  ASSERT_EQ(stuck.open_transfers.size(), 4U);
  EXPECT_EQ(stuck.open_transfers[0].state, RecordState::started);
  EXPECT_THAT(
      judge_job(stuck, {}).standstill.transfers,
      ElementsAre("rank 0 in a send to rank 1 (started)", "rank 1 in a send to rank 0 (started)"));
}

std::vector<Call> uneven_gather(int sequence, const std::string& state) {
  return {{"_broadcast_oop", sequence, 0, "scheduled", false, 1000, 1000},
          {"_broadcast_oop", sequence, 0, "scheduled", false, 1001, 1001},
          {"coalesced", sequence, 0, state, false, 0, 0, state == "completed" ? 1.5 : 0}};
}

TEST(FlightRecorderTest, CoalescedCollectivesHaveTheStateAndTimeOfTheEntryThatClosesThem) {
  JobLog job;
  for (const int rank : {0, 1, 2, 3}) dump(rank, uneven_gather(7, "completed"), job);
  ASSERT_EQ(job.records.size(), 4U);
  EXPECT_EQ(job.records[0].state, RecordState::completed);
  EXPECT_EQ(job.records[0].bytes, 4 * 2001);
  EXPECT_DOUBLE_EQ(job.records[0].duration_us, 1500);
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_FALSE(verdict.standstill.sequence.has_value());
  EXPECT_TRUE(verdict.is_healthy());

  JobLog stuck;
  for (const int rank : {0, 1, 2, 3}) dump(rank, uneven_gather(7, "started"), stuck);
  const Standstill still = judge_job(stuck, {}).standstill;
  EXPECT_EQ(still.sequence, 7);
  EXPECT_THAT(still.mismatches, IsEmpty());
}

// A cut dump may lack the entry that closes them.
TEST(FlightRecorderTest, ARankThatCallsTwoKindsInOneNumberDisagreesWithNobodyWhoDoesToo) {
  JobLog job;
  for (const int rank : {0, 1, 2, 3}) {
    dump(rank, {{"_broadcast_oop", 7, 0, "scheduled"}, {"_reduce_scatter_base", 7, 0, "scheduled"}},
         job);
  }
  EXPECT_THAT(judge_job(job, {}).standstill.mismatches, IsEmpty());
}

// After hours the ring holds no number twice.
TEST(FlightRecorderTest, ANumberBelowTheLatestIsOfAGroupThatWasMadeAnew) {
  JobLog job;
  for (const int rank : {0, 1, 2, 3}) {
    std::vector<Call> calls;
    for (int k = 900; k <= 920; ++k) calls.push_back({"all_reduce", k});
    for (int k = 1; k <= 5; ++k) calls.push_back({"all_reduce", k});
    if (rank != 2) calls.push_back({"all_reduce", 6, 0, "started"});
    dump(rank, calls, job);
  }
  const Standstill still = judge_job(job, {}).standstill;
  EXPECT_EQ(still.sequence, 6);
  EXPECT_THAT(still.missing, ElementsAre(2));
}

TEST(FlightRecorderTest, ARankThatHasOnlyLaterNumbersIsNotSaidToBeThere) {
  JobLog job;
  for (const int rank : {0, 1, 3}) dump(rank, {{"all_reduce", 6, 0, "started"}}, job);
  dump(2, {{"all_reduce", 920}}, job);
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_FALSE(verdict.standstill.started_by_all);
  EXPECT_THAT(standstill_words(verdict.standstill),
              HasSubstr("whether rank 2 issued it cannot be told"));
}

TEST(FlightRecorderTest, WhatARankSaysToHaveCompletedOfItsOwnHasEnded) {
  JobLog job;
  for (const int rank : {0, 1}) {
    const std::string entries = entry_of({"_broadcast_oop", 3, 0, "scheduled"});
    read_log(fmt::format(R"({{"version": "2.10", "pg_config": {{"0": {{"ranks": "[0, 1]"}}}}, )"
                         R"("pg_status": {{"-1": {{"last_enqueued_collective": 3, )"
                         R"("last_completed_collective": 3}}}}, "entries": [{}]}})",
                         entries),
             fmt::format("fr_{}.json", rank), job);
  }
  EXPECT_TRUE(judge_job(job, {}).is_healthy());
}

// All ranks of an MoE send as many tokens; the one that receives the fewest is done first.
TEST(FlightRecorderTest, TheRankWithTheSmallestPartsOfAnAllToAllIsNotLate) {
  for (const bool are_equal : {false, true}) {
    JobLog job;
    for (const int rank : {0, 1, 2, 3}) {
      std::vector<Call> calls;
      for (int k = 0; k < 40; ++k) {
        const int out = are_equal ? 1000 : 400 + 400 * rank;
        calls.push_back({"all_to_all", k, 0, "completed", false, 1000, out, rank == 0 ? 1. : 4.});
      }
      dump(rank, calls, job);
    }
    const JobVerdict verdict = judge_job(job, {});
    EXPECT_EQ(verdict.late().has_value(), are_equal);
    if (are_equal) continue;
    EXPECT_THAT(verdict.lateness.unknown, HasSubstr("parts that differ"));
    EXPECT_THAT(verdict.network.unknown, Not(HasSubstr("no durations")));
  }
}

// Four GPUs of one host, through PCI Express; or of several, with a slow network.
TEST(FlightRecorderTest, RanksThatOneHostMayHaveTellNoSlowNetwork) {
  for (const int ranks : {4, 16}) {
    JobLog job;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<Call> calls;
      for (int k = 0; k < 8; ++k) {
        calls.push_back({"all_reduce", k, 0, "completed", false, 6553600, 6553600, 4});
      }
      dump(rank, calls, job, ranks);
    }
    EXPECT_EQ(judge_job(job, {}).network.state,
              ranks == 4 ? NetworkState::unknown : NetworkState::slow);
  }
}

}  // namespace
}  // namespace collbench

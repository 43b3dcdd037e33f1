// What PyTorch's watchdog and torchrun say of a job that stands still, in the wordings of their
// versions.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/job_logged.h"

#include "bench/logs/operations.h"
#include "bench/logs/standstill.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::UnorderedElementsAre;

Standstill standstill_in(const JobLog& job) { return standstill_of(job, JobRanks(job)); }
Standstill standstill_in(const std::string& output) { return standstill_in(job_logged(output)); }

std::string timeout_of(int rank, int group_rank, int number, const std::string& type = "ALLREDUCE",
                       int elements = 1000) {
  return fmt::format(
      "[rank{}]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:632] [Rank {}] Watchdog caught "
      "collective operation timeout: WorkNCCL(SeqNum={}, OpType={}, NumelIn={}, NumelOut={}, "
      "Timeout(ms)=600000) ran for 600060 milliseconds before timing out.\n",
      rank, group_rank, number, type, elements, elements);
}

std::string failure_of(int rank, const std::string& group, int group_rank, int number) {
  return fmt::format(
      "[rank{}]:[E321 02:07:08.414640780 ProcessGroupNCCL.cpp:2271] [PG ID 7 PG GUID {} Rank {}]  "
      "failure detected by watchdog at work sequence id: {} PG status: last enqueued work: {}, "
      "last completed work: {}\n",
      rank, group, group_rank, number, number, number - 1);
}

std::string dump_of(int rank, int enqueued, int completed) {
  return fmt::format(
      "[rank{0}]:[E901 05:20:03.118859045 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID "
      "0(default_pg) Rank {0}] Received a dump signal due to a collective timeout from  rank 3 and "
      "we will try our best to dump the debug info. Last enqueued NCCL work: {1}, last completed "
      "NCCL work: {2}.This is most likely caused by\n",
      rank, enqueued, completed);
}

std::string torchruns_report(int rank, int exit_code) {
  return fmt::format(
      "Root Cause (first observed failure):\n[0]:\n  time      : 2025-05-21_15:43:03\n"
      "  host      : node-7\n  rank      : {} (local_rank: 0)\n  exitcode  : {} (pid: 14750)\n"
      "  error_file: <N/A>\n",
      rank, exit_code);
}

TEST(PytorchWatchdogTest, ARankThatHasNotIssuedWhatOthersWaitInIsMissing) {
  const Standstill found = standstill_in(
      "epoch 3, loss 0.7\n" + timeout_of(3, 3, 167) + failure_of(3, "0(default_pg)", 3, 167) +
      dump_of(0, 167, 166) + dump_of(1, 166, 166) + dump_of(2, 170, 166));
  EXPECT_EQ(found.sequence, 167);
  EXPECT_EQ(found.communicator, "default_pg");
  EXPECT_THAT(found.missing, ElementsAre(1));
  EXPECT_THAT(found.unheard, IsEmpty());
  EXPECT_THAT(found.mismatches, IsEmpty());
}

TEST(PytorchWatchdogTest, ACollectiveThatOthersHaveCompletedIsNoStandstill) {
  // Rank 2 waits in an all-gather where the others have completed 12 and gone on to 13.
  const JobLog job =
      job_logged(timeout_of(0, 0, 13) + failure_of(0, "0(default_pg)", 0, 13) +
                 timeout_of(1, 1, 13) + failure_of(1, "0(default_pg)", 1, 13) +
                 timeout_of(2, 2, 12, "ALLGATHER") + failure_of(2, "0(default_pg)", 2, 12));
  const Standstill found = standstill_in(job);
  EXPECT_EQ(found.sequence, 13);
  EXPECT_THAT(found.missing, ElementsAre(2));
  EXPECT_THAT(job.notes, testing::Contains(testing::HasSubstr(
                             "rank 2 waits in collective 12 of 'default_pg' (all-gather), which "
                             "others have completed")));
}

TEST(PytorchWatchdogTest, OfARankThatSaysNothingNothingIsSaid) {
  // Rank 0 waits in another group, rank 1 in none.
  const Standstill found =
      standstill_in(timeout_of(2, 2, 9) + failure_of(2, "4(dp)", 2, 9) + timeout_of(3, 3, 9) +
                    failure_of(3, "4(dp)", 3, 9) + failure_of(0, "9(tp)", 0, 3));
  EXPECT_EQ(found.sequence, 9);
  EXPECT_EQ(found.communicator, "dp");
  EXPECT_THAT(found.missing, IsEmpty());
  EXPECT_THAT(found.unheard, ElementsAre(0, 1));
}

TEST(PytorchWatchdogTest, RanksOfASubgroupAreThoseOfTheJob) {
  const JobLog job = job_logged(
      timeout_of(97, 1, 4) + failure_of(97, "12(ep)", 1, 4) +
      "[rank105]:[E1 ProcessGroupNCCL.cpp:1] [PG ID 3 PG GUID 12(ep) Rank 2] Received a dump "
      "signal due to a collective timeout from this local rank. Last enqueued NCCL work: 3, last "
      "completed NCCL work: 3.\n");
  const Standstill found = standstill_in(job);
  EXPECT_THAT(found.missing, ElementsAre(105));
  EXPECT_THAT(found.unheard, IsEmpty());  // which rank of the job has number 0 there?
}

struct Wording {
  const char* name;
  const char* of_rank_1;  // waits in 58
  std::string of_rank_2;  // has ended 57 and is not in 58
};
void PrintTo(const Wording& wording, std::ostream* out) { *out << wording.name; }

class PytorchWordings : public testing::TestWithParam<Wording> {};

TEST_P(PytorchWordings, MeanTheSame) {
  const Standstill found = standstill_in(GetParam().of_rank_1 + GetParam().of_rank_2);
  EXPECT_EQ(found.sequence, 58);
  EXPECT_THAT(found.missing, ElementsAre(2));
  EXPECT_THAT(found.unheard, ElementsAre(0));
}

constexpr const char* desync =
    "\t - [1] Timeout at collective: ALLREDUCE, #58\n"
    "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
    "\t     [2] finished collective #57, but didn't join collective #58 (count from 1)\n";

// The report comes before the line that names its group: pytorch/pytorch issue 152623.
const std::string desync_2_7 =
    std::string(desync) +
    "[rank1]:[E515 18:36:47.343391940 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) "
    "Rank 1]  failure detected by watchdog at work sequence id: 58 PG status: last enqueued work: "
    "315, last completed work: 57\n";

INSTANTIATE_TEST_SUITE_P(
    Versions, PytorchWordings,
    testing::Values(
        Wording{"desync_2_3",
                "[rank1]:[E1 ProcessGroupNCCL.cpp:1664] [PG 0 (default_pg) Rank 1] Exception "
                "(either an error or timeout) detected by watchdog at work: 58, last enqueued NCCL "
                "work: 60, last completed NCCL work: 57.\n",
                desync},
        Wording{"desync_1_13",
                "[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation "
                "timeout: WorkNCCL(SeqNum=58, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for "
                "1802212 milliseconds before timing out.\n",
                desync},
        Wording{"desync_2_7",
                "[rank1]:[E515 18:36:47.341808597 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog "
                "caught collective operation timeout: WorkNCCL(SeqNum=58, OpType=ALLREDUCE, "
                "NumelIn=6, NumelOut=6, Timeout(ms)=600000) ran for 600086 milliseconds before "
                "timing out.\n[rank1]:[E515 18:36:47.343377708 ProcessGroupNCCL.cpp:1937] Rank 1\n",
                desync_2_7},
        Wording{"timeout_2_2",
                "[rank1]:[E1 ProcessGroupNCCL.cpp:1709] [PG 0 Rank 1] Timeout at NCCL work: 58, "
                "last enqueued NCCL work: 58, last completed NCCL work: 57.\n",
                "[rank2]:[E1 ProcessGroupNCCL.cpp:1] [PG 0 Rank 2] Received a dump signal from "
                "this local rank. Last enqueued NCCL work: 57, last completed NCCL work: 57.\n"},
        Wording{"ray_with_colours",
                "\x1b[36m(Worker pid=31, ip=10.1.2.6)\x1b[0m [rank1]:[E1 ProcessGroupNCCL.cpp:1] "
                "[PG ID 0 PG GUID 0(default_pg) Rank 1]  failure detected by watchdog at work "
                "sequence id: 58 PG status: last enqueued work: 58, last completed work: 57\n",
                "\x1b[36m(Worker pid=32, ip=10.1.2.6)\x1b[0m [rank2]:[E1 ProcessGroupNCCL.cpp:1] "
                "[PG ID 0 PG GUID 0(default_pg) Rank 2] Received a dump signal due to a collective "
                "timeout from  rank 1. Last enqueued NCCL work: 57, last completed NCCL work: "
                "57.\n"}),
    [](const auto& wording) { return wording.param.name; });

TEST(PytorchWatchdogTest, AReportIsOfTheGroupThatItsOwnRankNamesNext) {
  const std::string head = "[rank1]:[E515 18:36:47 ProcessGroupNCCL.cpp:1937] Rank 1\n";
  const std::string other = timeout_of(3, 0, 20) + failure_of(3, "4(dp)", 0, 20);
  const Standstill found = standstill_in(head + desync + timeout_of(1, 1, 58) + other +
                                         failure_of(1, "0(default_pg)", 1, 58));
  EXPECT_EQ(found.communicator, "default_pg");
  EXPECT_THAT(found.missing, ElementsAre(2));
  const JobLog unplaced =
      job_logged(other + timeout_of(1, 1, 58) + failure_of(1, "0(default_pg)", 1, 58) + head +
                 std::string(desync));
  EXPECT_THAT(unplaced.left_out, Contains(Key(HasSubstr("whose group is not said"))));
}

TEST(PytorchWatchdogTest, ATimeoutWhoseGroupWasCutOffIsOfTheGroupOfItsRank) {
  const Standstill found =
      standstill_in(timeout_of(0, 0, 7) + failure_of(0, "0(default_pg)", 0, 7) + dump_of(1, 6, 6) +
                    timeout_of(2, 2, 7));
  EXPECT_THAT(found.missing, ElementsAre(1));
  EXPECT_THAT(found.unheard, IsEmpty());
}

TEST(PytorchWatchdogTest, WhatTheWatchdogSaysAgainWhenItEndsIsNoOtherGroup) {
  // Rank 3 speaks of two groups; the last line repeats its timeout in one of them.
  for (const char* group : {"[PG ID 2 PG GUID 4(dp) Rank 1] ", ""}) {
    const JobLog job = job_logged(
        timeout_of(3, 1, 9) + failure_of(3, "4(dp)", 1, 9) + dump_of(3, 5, 5) +
        "[rank3]:[E1 ProcessGroupNCCL.cpp:1515] " + group +
        "Process group watchdog thread terminated with exception: " + timeout_of(3, 1, 9));
    ASSERT_EQ(job.communicators.size(), 1U) << group;
    EXPECT_EQ(job.communicators[0].name, "dp");
    EXPECT_EQ(job.records.size(), 1U);
  }
}

TEST(PytorchWatchdogTest, WithoutItsRankInTheGroupThatInTheJobIsTaken) {
  const JobLog job = job_logged(
      "[rank12]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
      "OpType=ALLREDUCE, NumelIn=1, NumelOut=1)\n"
      "[rank13]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, "
      "OpType=ALLREDUCE, NumelIn=1, NumelOut=1)\n");
  ASSERT_EQ(job.records.size(), 2U);
  EXPECT_EQ(job.records[0].rank, 12);
  EXPECT_EQ(job.records[1].rank, 13);
}

TEST(PytorchWatchdogTest, ARankThatIsPastItIsNotMissing) {
  const Standstill found =
      standstill_in(timeout_of(0, 0, 7) + failure_of(0, "0(default_pg)", 0, 7) + dump_of(1, 7, 7));
  EXPECT_EQ(found.sequence, 7);
  EXPECT_THAT(found.missing, IsEmpty());
  EXPECT_THAT(found.mismatches, IsEmpty());
}

TEST(PytorchWatchdogTest, RanksThatCallDifferentCollectivesDisagree) {
  const Standstill found =
      standstill_in(timeout_of(0, 0, 57, "ALLGATHER", 1) + timeout_of(1, 1, 57, "ALLREDUCE", 1024));
  EXPECT_THAT(found.mismatches, UnorderedElementsAre(HasSubstr("all-gather of 4 B by rank 0"),
                                                     HasSubstr("all-reduce of 4 KiB by rank 1")));
}

// pytorch/pytorch issue 118369: before PyTorch 2.2 no line names a group.
TEST(PytorchWatchdogTest, TimeoutsFarFromEachOtherWithoutAGroupAreSaidToBeOfSeveral) {
  const auto notes = [](int other) {
    return job_logged(timeout_of(0, 0, 96117) + timeout_of(7, 7, other)).notes;
  };
  EXPECT_THAT(notes(64088), Contains(HasSubstr("those of 64088 to 96117 are likely of several")));
  EXPECT_THAT(notes(96117), Not(Contains(HasSubstr("likely of several"))));
}

TEST(PytorchWatchdogTest, TheShareOfOneRankIsTheSmallerSide) {
  const JobLog job = job_logged(
      "[rank0]: [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, "
      "OpType=_REDUCE_SCATTER_BASE, NumelIn=4096, NumelOut=512, Timeout(ms)=1) ran\n");
  ASSERT_EQ(job.records.size(), 1U);
  EXPECT_EQ(job.records[0].kind, LoggedKind::reduce_scatter);
  EXPECT_EQ(job.records[0].bytes, 2048);
}

TEST(PytorchWatchdogTest, WhatTorchrunSawFailFirstIsNamed) {
  const JobLog killed = job_logged(torchruns_report(5, -9));
  EXPECT_THAT(killed.missing_ranks, ElementsAre(5));
  EXPECT_THAT(killed.notes, Contains(HasSubstr("rank 5 on node-7, by signal 9")));
  const JobLog tagged = job_logged(
      "[1,0]<stderr>:Root Cause (first observed failure):\n[1,0]<stderr>:  rank      : 5 "
      "(local_rank: 1)\n[1,0]<stderr>:  exitcode  : -9 (pid: 1)\n");
  EXPECT_THAT(tagged.missing_ranks, ElementsAre(5));
  const JobLog raised = job_logged(torchruns_report(5, 1));
  EXPECT_THAT(raised.missing_ranks, IsEmpty());
  EXPECT_THAT(raised.notes, Contains(HasSubstr("rank 5 on node-7, with exit code 1")));
}

TEST(PytorchWatchdogTest, AJobThatFailedOrWasToldToEndHasEnded) {
  EXPECT_EQ(job_logged(torchruns_report(5, 1)).ended, "with exit code 1, rank 5 first");
  EXPECT_EQ(job_logged(torchruns_report(5, -11)).ended, "by signal 11, rank 5 first");
  EXPECT_THAT(job_logged(torchruns_report(5, -15)).missing_ranks, IsEmpty());
  EXPECT_EQ(job_logged(torchruns_report(5, -6)).ended, "") << "its watchdog tells more";
}

TEST(PytorchWatchdogTest, TransfersThatTimeOutHaveNumbersOfTheirOwn) {
  std::string output;
  for (const auto& [rank, number] : {std::pair(0, 40), {1, 80}, {2, 80}}) {
    output += timeout_of(rank, rank, number, "RECV") + failure_of(rank, "3(mesh_pp)", rank, number);
  }
  const Standstill still = standstill_in(output + dump_of(3, 39, 39));
  EXPECT_FALSE(still.sequence.has_value());
  EXPECT_EQ(still.transfers.size(), 3U);
}

TEST(PytorchWatchdogTest, OfSeveralAttemptsTheLastIsJudged) {
  const auto attempt = [](int missing, int number) {
    std::string output;
    for (int rank = 0; rank < 3; ++rank) {
      output += rank == missing ? dump_of(rank, number - 1, number - 1)
                                : timeout_of(rank, rank, number) +
                                      failure_of(rank, "0(default_pg)", rank, number);
    }
    return output;
  };
  for (const std::string& between :
       {std::string("[default] Worker group FAILED. will restart worker group\n"),
        torchruns_report(0, -6)}) {
    const Standstill still = standstill_in(attempt(2, 1233) + between + attempt(1, 57));
    EXPECT_EQ(still.sequence, 57);
    EXPECT_THAT(still.missing, ElementsAre(1));
  }
}

TEST(PytorchWatchdogTest, ARankThatItsWatchdogEndedIsNotTheOneThatFailed) {
  EXPECT_THAT(job_logged(torchruns_report(5, -6)).missing_ranks, IsEmpty());
}

TEST(PytorchWatchdogTest, RanksThatFailAMonitoredBarrierAreMissing) {
  EXPECT_THAT(
      job_logged("[Rank 0]: Rank 1 failed to pass monitoredBarrier in 2000 ms\n").missing_ranks,
      ElementsAre(1));
  EXPECT_THAT(
      job_logged("RuntimeError: [Rank 0]: Ranks 1, 12 failed to pass monitoredBarrier in 9 ms\n")
          .missing_ranks,
      ElementsAre(1, 12));
}

constexpr const char* stall =
    "[2021-02-02 21:19:07.345988: W /tmp/horovod/common/stall_inspector.cc:105] One or more "
    "tensors "
    "were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for "
    "remainder of ranks for more than 60 seconds. This may indicate a deadlock. \n";

TEST(HorovodStallTest, RanksThatHaveNotSubmittedTensorsAreMissing) {
  for (const std::string& list :
       {std::string(
            "Missing ranks:\n0: [grads/dense_1, grads/dense_2 ...]\n12!: [grads/dense_1]\n"),
        std::string("[1,0]<stderr>:Stalled ranks:\n[1,0]<stderr>:0: [grads/dense_1]\n"
                    "[1,0]<stderr>:12: [grads/dense_1]\n"),
        std::string("Stalled ops:\ngrads/dense_1 [missing ranks: 0, 12]\n")}) {
    const JobLog job = job_logged(stall + list + "7: [no list any more\nepoch 8: [done]\n");
    EXPECT_THAT(job.missing_ranks, ElementsAre(0, 12)) << list;
    EXPECT_THAT(job.notes, Contains("Horovod: rank 12 has not submitted grads/dense_1")) << list;
  }
}

// horovod/horovod issues 534 and 1012: before 0.17 each tensor has a line, and perhaps a logger's
// prefix.
TEST(HorovodStallTest, SeveralTensorsOfOneWarningAreOneWarning) {
  const std::string logger =
      "[1,0]<stderr>:[2019-04-13 13:56:31.861786: W horovod/operations.cc:588] ";
  const JobLog job =
      job_logged(std::string(stall) + "[1,0]<stderr>:Stalled ops:a [missing ranks: 1]\n" + logger +
                 "b [missing ranks: 1]\n" + logger + "c [missing ranks: 1, 2]\n");
  EXPECT_THAT(job.missing_ranks, ElementsAre(1, 2));
  EXPECT_THAT(job.notes, ElementsAre("Horovod: rank 1 has not submitted a",
                                     "Horovod: rank 2 has not submitted c"));
}

TEST(HorovodStallTest, TheLastOfManyWarningsIsTold) {
  std::string output;
  for (const char* tensor : {"a", "b", "c"}) {
    output += std::string(stall) + "Missing ranks:\n3: [" + tensor + "]\n\n";
  }
  const JobLog job = job_logged(output);
  EXPECT_THAT(job.missing_ranks, ElementsAre(3));
  EXPECT_THAT(job.notes,
              ElementsAre("Horovod: rank 3 has not submitted c, in the last of 3 warnings"));
}

TEST(PytorchWatchdogTest, OneOutputMayHaveMessagesOfNcclToo) {
  const JobLog job = job_logged("node-a:41:90 [0] NCCL INFO Using network Socket\n" +
                                timeout_of(0, 0, 7) + dump_of(1, 6, 6));
  EXPECT_THAT(job.formats, ElementsAre("NCCL_DEBUG", "PyTorch's watchdog"));
  EXPECT_THAT(job.hosts, Contains(Key("node-a")));
  EXPECT_EQ(job.files, 1);
  EXPECT_EQ(standstill_in(job).sequence, 7);
}

TEST(PytorchWatchdogTest, MessagesFarBehindTheBeginAreFound) {
  std::string output;
  while (output.size() < 100'000) output += "step 100, loss 0.25\n";
  EXPECT_EQ(standstill_in(output + timeout_of(0, 0, 7)).sequence, 7);
  EXPECT_THROW(job_logged(output), InvalidArgument);
}

TEST(PytorchWatchdogTest, MessagesThatWereCutShortAreCounted) {
  const JobLog job =
      job_logged(timeout_of(0, 0, 7) +
                 "[rank1]: [Rank 1] Watchdog caught collective operation timeout: Wor\n"
                 "[rank2]: [PG 0 Rank 2] Timeout at NCCL work: 7, last enqueued NCCL wo");
  EXPECT_THAT(job.left_out, Contains(Key(HasSubstr("without rank or number"))));
  EXPECT_THAT(job.left_out, Contains(Key(HasSubstr("cut short"))));
  EXPECT_EQ(job.records.size(), 1U);
}

TEST(PytorchWatchdogTest, GroupsInWhichNothingWaitsHaveNoRecords) {
  const JobLog job = job_logged(dump_of(0, 9, 9) + dump_of(1, 9, 9));
  EXPECT_THAT(job.records, IsEmpty());
  EXPECT_FALSE(standstill_in(job).sequence);
}

}  // namespace
}  // namespace collbench

// What NCCL_DEBUG's lines say of adapters: a fault only where the job uses them.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/job_logged.h"

#include "bench/logs/job_verdict.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> causes_in(const std::string& output) {
  JobLog job = job_logged(output);
  std::vector<std::string> said;
  for (const FoundCause& found : judge_job(job, {}).causes) {
    said.push_back(std::string(found.cause->name) + ": " + found.seen);
  }
  return said;
}

const std::string one_host =
    "a:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
    "a:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
    "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1 commId 0xc - Init COMPLETE\n"
    "a:3:4 [1] NCCL INFO comm 0x2 rank 1 nranks 2 cudaDev 1 busId 2 commId 0xc - Init COMPLETE\n";

TEST(NcclDebugCausesTest, AJobInsideOneHostDoesNotMissAdapters) {
  EXPECT_THAT(
      causes_in(one_host + "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"),
      IsEmpty());
  // Channels through an adapter lead to other hosts, though their logs are not here.
  EXPECT_THAT(
      causes_in(one_host + "a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 2[0] [send] via NET/IB/0\n"),
      Contains(HasSubstr("gdr_off: NCCL says 'GPU Direct RDMA Disabled' on a")));
}

TEST(NcclDebugCausesTest, ChannelsOfWhichSomeAreStagedAreNamed) {
  EXPECT_THAT(
      causes_in("a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n"
                "a:1:2 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0] [send] via NET/IB/1\n"),
      ElementsAre(HasSubstr("gdr_off: channels through adapters without '/GDRDMA': 1 of 2 on a")));
  EXPECT_THAT(
      causes_in("a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n"
                "a:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"),
      IsEmpty())
      << "GPUs without NVLink send through the host";
}

TEST(NcclDebugCausesTest, ATransferThatFailedIsACauseAndOtherWarningsAreNone) {
  const std::string warning = "b:9:9 [1] NCCL WARN NET/IB: Got completion from peer 10.0.0.1<4> ";
  EXPECT_THAT(causes_in(one_host + warning + "with status=12 opcode=32600 vendor err 129\n"),
              Contains(HasSubstr("network_error: NCCL warns 'NET/IB: Got completion")));
  EXPECT_THAT(causes_in(one_host + "b:9:9 [1] NCCL WARN Call to ibv_modify_qp failed with 110\n"),
              Contains(HasSubstr("failed with 110' on b")));
  EXPECT_THAT(causes_in(one_host + "b:9:9 [1] NCCL WARN Missing \"iommu=pt\" from kernel\n"),
              Not(Contains(HasSubstr("network_error"))));
}

TEST(NcclDebugCausesTest, ARankWhoseLogHasFewerCollectivesIsBehindInItAndMayGoOn) {
  std::string log = one_host;
  for (const auto& [host, last] : {std::pair{"a:1:2", 9}, std::pair{"a:3:4", 6}}) {
    for (int k = 0; k <= last; ++k) {
      log += std::string(host) + " [0] NCCL INFO AllReduce: opCount " + std::to_string(k) +
             " sendbuff 0x1 recvbuff 0x2 count 1024 datatype 7 op 0 root 0 comm " +
             (last == 9 ? "0x1" : "0x2") + " [nranks=2] stream 0x3\n";
    }
  }
  JobLog job = job_logged(log);
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_THAT(verdict.standstill.behind, ElementsAre(1));
  EXPECT_EQ(verdict.standstill.behind_by, 3);
  EXPECT_TRUE(verdict.is_healthy());
  EXPECT_THAT(job.notes, Contains(HasSubstr("stands still only if the job does not go on")));
}

// NVIDIA/nccl issue 2057: one host's log of two.
TEST(NcclDebugCausesTest, SocketsToOtherHostsAreSeenInTheLogOfOne) {
  const std::string socket = "a:1:2 [0] NCCL INFO Using network Socket\n";
  const std::string channel =
      "a:1:2 [0] NCCL INFO Channel 01/1 : 0[0] -> 1[1] [send] via NET/Socket/0/Shared\n";
  const std::string nodes =
      "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n";
  EXPECT_THAT(causes_in(one_host + socket), IsEmpty()) << "inside one host it is not used";
  for (const std::string& sign : {channel, nodes}) {
    EXPECT_THAT(causes_in(one_host + socket + sign),
                Contains(HasSubstr("sockets: NCCL says 'Using network Socket' on a")))
        << sign;
  }
  EXPECT_THAT(causes_in(channel), ElementsAre("sockets: channels go 'via NET/Socket' on a"));
}

std::string all_reduce_line(const std::string& gpu, int number, const std::string& communicator,
                            int ranks, const std::string& end = "") {
  return gpu + " NCCL INFO AllReduce: opCount " + std::to_string(number) +
         " sendbuff 0x1 recvbuff 0x2 count 1024 datatype 7 op 0 root 0 comm " + communicator +
         " [nranks=" + std::to_string(ranks) + "] stream 0x3" + end + "\n";
}

// NVIDIA/nccl issue 203: two GPUs of one process, NCCL_DEBUG_SUBSYS=COLL.
TEST(NcclDebugTest, WithoutInitLinesCommunicatorsAreJoinedByTheOrderOfTheirUse) {
  std::string log;
  for (int k = 0; k < 5; ++k) {
    log += all_reduce_line("gpu1:13135:13922 [0]", k, "0xa", 2);
    if (k < 3) log += all_reduce_line("gpu1:13135:13923 [1]", k, "0xb", 2);
  }
  JobLog job = job_logged(log);
  ASSERT_EQ(job.communicators.size(), 1U);
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_EQ(verdict.operations, 5);
  EXPECT_EQ(verdict.bytes, 5 * 4096);
  EXPECT_THAT(verdict.standstill.behind, ElementsAre(1));
  EXPECT_THAT(job.left_out, IsEmpty());
  EXPECT_THAT(job.notes, Contains(HasSubstr("(NCCL_DEBUG_SUBSYS=INIT,COLL)")));
}

TEST(NcclDebugTest, OfMoreGpusThanACommunicatorHasRanksNoneIsCalledBehind) {
  const std::string log = all_reduce_line("a:1:1 [0]", 8, "0xa", 2) +
                          all_reduce_line("a:2:2 [1]", 1, "0xb", 2) +
                          all_reduce_line("a:3:3 [2]", 8, "0xc", 2);
  JobLog job = job_logged(log);
  EXPECT_EQ(job.records.size(), 2U);
  EXPECT_THAT(judge_job(job, {}).standstill.behind, IsEmpty());
  EXPECT_THAT(job.left_out, Contains(testing::Key(HasSubstr("of more processes"))));
}

TEST(NcclDebugTest, RcclSaysTheRankInTheJob) {
  const JobLog job = job_logged(all_reduce_line("b:7:7 [5]", 1, "0xa", 8, " task 0 globalrank 5"));
  ASSERT_EQ(job.processes.size(), 1U);
  EXPECT_EQ(job.processes[0].rank, 5);
}

}  // namespace
}  // namespace collbench

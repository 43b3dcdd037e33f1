// What NCCL_DEBUG's lines say of adapters: a fault only where the job uses them.
#include <algorithm>
#include <string>
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

}  // namespace
}  // namespace collbench

// Horovod's timeline as real jobs write it: tensors that were fused, a response cache, processes of
// which nothing says whether they share a host. The stamps are of argonne-lcf/
// ATPESC_MachineLearning, 03_distributed_deep_learning/Horovod.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/logs/job_verdict.h"
#include "bench/logs/log_readers.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr int elements = 1 << 20;

/// One tensor of two ranks: when each asked (-1: it does not say), and its all-reduce.
struct TensorTimes {
  int asked_us[2];
  int from_us;
  int to_us;
};

JobLog timeline(const std::vector<TensorTimes>& tensors, const char* library = "MPI") {
  std::string text = R"([{"name":"process_name","ph":"M","pid":0,)"
                     R"("args":{"start_time_since_epoch_in_micros":1}})";
  int pid = 0;
  for (const TensorTimes& one : tensors) {
    ++pid;
    text += fmt::format(R"(,{{"ph":"B","name":"NEGOTIATE_ALLREDUCE","ts":1,"pid":{}}})", pid);
    for (int rank = 0; rank < 2; ++rank) {
      if (one.asked_us[rank] < 0) continue;
      text += fmt::format(R"(,{{"ph":"X","name":"{}","ts":{},"pid":{},"dur":0}})", rank,
                          one.asked_us[rank], pid);
    }
    text += fmt::format(
        R"(,{{"ph":"E","ts":{},"pid":{}}},{{"ph":"B","name":"ALLREDUCE","ts":{},"pid":{}}})"
        R"(,{{"ph":"B","name":"{}_ALLREDUCE","ts":{},"pid":{}}},{{"ph":"E","ts":{},"pid":{}}})"
        R"(,{{"ph":"E","ts":{},"pid":{},"args":{{"dtype":"float32","shape":"[{}]"}}}})",
        one.from_us - 5, pid, one.from_us - 4, pid, library, one.from_us, pid, one.to_us, pid,
        one.to_us + 9, pid, elements);
  }
  JobLog job;
  read_log(text + "]", "timeline.json", job);
  return job;
}

TEST(HorovodTimelineTest, FusedTensorsAreOneOperationThoughEachHasItsOwnStamps) {
  JobLog job = timeline({{{3905000, 3908000}, 3909160, 3913116},
                         {{3907500, 3900000}, 3909161, 3913121},
                         {{3906000, 3901000}, 3909162, 3913123},
                         {{3914000, 3914100}, 3915000, 3917000}});
  const std::vector<JobOperation> operations = operations_of(job);
  ASSERT_EQ(operations.size(), 2U);
  EXPECT_EQ(operations[0].any().bytes, 3 * 4 * elements);
  EXPECT_EQ(operations[0].last, 1) << "with its last tensor";
  EXPECT_NEAR(operations[0].waiting_us(operations[0].records[0]), 500, 1);
  EXPECT_EQ(operations[1].any().bytes, 4 * elements);
}

TEST(HorovodTimelineTest, ShortOperationsAfterEachOtherAreNotFused) {
  JobLog job = timeline({{{100, 110}, 120, 124}, {{100, 110}, 126, 131}});
  EXPECT_EQ(operations_of(job).size(), 2U);
}

TEST(HorovodTimelineTest, OfProcessesThatMayShareAHostNoNetworkIsCalledSlow) {
  std::vector<TensorTimes> tensors;
  for (int k = 1; k <= 8; ++k) {
    tensors.push_back({{20000 * k, 20000 * k}, 20000 * k + 100, 20000 * k + 12000});
  }
  JobLog by_processors = timeline(tensors);
  const NetworkVerdict unknown = judge_job(by_processors, {}).network;
  EXPECT_EQ(unknown.state, NetworkState::unknown);
  EXPECT_THAT(unknown.unknown, HasSubstr("its hosts are not said"));
  JobLog by_gpus = timeline(tensors, "NCCL");
  EXPECT_EQ(judge_job(by_gpus, {}).network.state, NetworkState::unknown);
}

TEST(HorovodTimelineTest, WhereMostTensorsComeFromTheCacheTheAnswerSaysSo) {
  const TensorTimes told{{100, 110}, 120, 1200};
  EXPECT_THAT(timeline({told}).notes, Not(Contains(HasSubstr("response cache"))));
  EXPECT_THAT(timeline({told, {{-1, -1}, 2000, 2900}, {{-1, -1}, 3000, 3900}}).notes,
              Contains(HasSubstr("response cache")));
}

}  // namespace
}  // namespace collbench

// Traces whose collectives have no numbers, of jobs whose truth is known.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/logs/job_verdict.h"
#include "bench/logs/log_readers.h"
#include "bench/logs/operations.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A group's collectives as its ranks see them: irregular pauses, one rank late at each, a clock of
/// its own for every rank, and the first `skipped` collectives not traced.
class Group {
 public:
  Group(std::vector<int> ranks, int late, unsigned seed, double longest_us = 20000)
      : ranks_(std::move(ranks)), late_(late) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> pause(500, longest_us);
    double now = 1000;
    for (int k = 0; k < 40; ++k) {
      now += pause(random);
      ends_.push_back(now);
    }
  }

  void trace(int communicator, int rank, int skipped, double clock_us, JobLog& job) const {
    const int process = job.process(fmt::format("rank {}", rank));
    job.processes[static_cast<std::size_t>(process)].rank = rank;
    for (std::size_t k = static_cast<std::size_t>(skipped); k < ends_.size(); ++k) {
      LogRecord& record = job.records.emplace_back();
      record.communicator = communicator;
      record.rank = rank;
      record.process = process;
      record.kind = LoggedKind::all_reduce;
      record.sequence = static_cast<std::int64_t>(k) - skipped;
      record.bytes = 1 << 20;
      record.duration_us = rank == late_ ? 200 : 2000;
      record.start_us = clock_us + ends_[k] - record.duration_us;
    }
  }
  const std::vector<int>& ranks() const { return ranks_; }

 private:
  std::vector<int> ranks_;
  int late_;
  std::vector<double> ends_;
};

int counted_communicator(JobLog& job, int ranks, bool states_ranks) {
  const int made = job.communicator("stream 20", "stream 20", ranks);
  job.communicators[static_cast<std::size_t>(made)].counted = true;
  job.communicators[static_cast<std::size_t>(made)].states_ranks = states_ranks;
  return made;
}

TEST(CountedRecordsTest, ATraceThatBeginsLaterIsShiftedToTheOthers) {
  JobLog job;
  const int c = counted_communicator(job, 4, true);
  const Group group({0, 1, 2, 3}, 2, 1);
  for (const int rank : group.ranks()) group.trace(c, rank, rank == 1 ? 7 : 0, 1e6 * rank, job);
  match_counted_records(job);
  EXPECT_THAT(judge_job(job, {}).lateness.late, ElementsAre(2));
  std::map<int, std::int64_t> next{{0, 0}, {1, 7}, {2, 0}, {3, 0}};
  for (const LogRecord& record : job.records) EXPECT_EQ(record.sequence, next[record.rank]++);
}

TEST(CountedRecordsTest, OfEvenStepsTheClocksCannotBeTold) {
  const auto offsets_of = [](double longest_us, JobLog& job) {
    const int c = counted_communicator(job, 2, true);
    const Group group({0, 1}, 1, 1, longest_us);
    for (const int rank : group.ranks()) group.trace(c, rank, rank, 5000.0 * rank, job);
    match_counted_records(job);
    return judge_job(job, {}).clock_offset_us;
  };
  JobLog uneven;
  EXPECT_THAT(offsets_of(20000, uneven), ElementsAre(0, 5000));
  JobLog even;
  EXPECT_THAT(offsets_of(502, even), IsEmpty());
  EXPECT_THAT(even.notes, ElementsAre(testing::HasSubstr("the steps are so even")));
}

TEST(CountedRecordsTest, RanksOfOneStreamThatDoNotEndTogetherAreGroupsOfTheirOwn) {
  JobLog job;
  const int c = counted_communicator(job, 4, false);
  const Group even({0, 2}, 2, 1);
  const Group odd({1, 3}, 1, 2);
  for (const int rank : even.ranks()) even.trace(c, rank, 0, 5e5 * rank, job);
  for (const int rank : odd.ranks()) odd.trace(c, rank, 3, 5e5 * rank, job);
  match_counted_records(job);
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_THAT(verdict.lateness.late, ElementsAre(1, 2));
  std::vector<std::string> used;
  for (const LogRecord& record : job.records) {
    const JobCommunicator& one = job.communicators[static_cast<std::size_t>(record.communicator)];
    EXPECT_EQ(one.ranks, 2);
    if (std::find(used.begin(), used.end(), one.id) == used.end()) used.push_back(one.id);
  }
  EXPECT_THAT(used, testing::UnorderedElementsAre("stream 20 of rank 0", "stream 20 of rank 1"));
}

// With the logs of some ranks only, groups may have members that are not here.
TEST(CountedRecordsTest, GroupsOfAStreamAreAsLargeAsTheJobWhileRanksAreMissing) {
  JobLog job;
  const int c = counted_communicator(job, 8, false);
  const Group even({0, 2}, 2, 1);
  const Group odd({1, 3}, 1, 2);
  for (const Group* group : {&even, &odd}) {
    for (const int rank : group->ranks()) group->trace(c, rank, 0, 0, job);
  }
  match_counted_records(job);
  for (const LogRecord& record : job.records) {
    EXPECT_EQ(job.communicators[static_cast<std::size_t>(record.communicator)].ranks, 8);
  }
  EXPECT_THAT(judge_job(job, {}).lateness.late, IsEmpty());
}

TEST(CountedRecordsTest, OfAStatedGroupTimesThatDoNotEndTogetherAreNotCompared) {
  JobLog job;
  const int c = counted_communicator(job, 3, true);
  const Group group({0, 1}, 1, 1);
  const Group other({2}, 2, 2);  // as if it had skipped some in between
  for (const int rank : group.ranks()) group.trace(c, rank, 0, 0, job);
  other.trace(c, 2, 0, 0, job);
  match_counted_records(job);
  for (const LogRecord& record : job.records) {
    EXPECT_EQ(std::isnan(record.duration_us), record.rank == 2);
  }
  EXPECT_THAT(judge_job(job, {}).lateness.late, IsEmpty());
  EXPECT_EQ(job.left_out.begin()->second, 40);
}

TEST(CountedRecordsTest, ShiftsAndGroupsOfRandomJobsAreFoundAgain) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int least, int most) {
      return std::uniform_int_distribution<int>(least, most)(random);
    };
    const int n_groups = draw(1, 3);
    const int size = draw(2, 3);
    std::vector<Group> groups;
    for (int g = 0; g < n_groups; ++g) {
      std::vector<int> ranks;
      for (int i = 0; i < size; ++i) ranks.push_back(i * n_groups + g);
      groups.emplace_back(ranks, ranks[static_cast<std::size_t>(draw(0, size - 1))],
                          seed + 1000u * g);
    }
    JobLog job;
    const int c = counted_communicator(job, n_groups * size, false);
    std::vector<int> skipped(static_cast<std::size_t>(n_groups * size));
    for (const Group& group : groups) {
      for (const int rank : group.ranks()) {
        skipped[static_cast<std::size_t>(rank)] = draw(0, 9);
        group.trace(c, rank, skipped[static_cast<std::size_t>(rank)], draw(0, 1000000), job);
      }
    }
    match_counted_records(job);
    for (const LogRecord& a : job.records) {
      // The k-th record of a rank is collective k + skipped of its group.
      const int group = a.rank % n_groups;
      const LogRecord& first = *std::find_if(job.records.begin(), job.records.end(),
                                             [&](auto& b) { return b.rank == group; });
      ASSERT_EQ(a.communicator, first.communicator) << seed;
      const int shift =
          skipped[static_cast<std::size_t>(a.rank)] - skipped[static_cast<std::size_t>(group)];
      const auto own = std::find_if(job.records.begin(), job.records.end(),
                                    [&](auto& b) { return b.rank == a.rank; });
      ASSERT_EQ(own->sequence, shift) << seed << " rank " << a.rank;
    }
    for (int g = 1; g < n_groups; ++g) {
      const auto of = [&](int rank) {
        return std::find_if(job.records.begin(), job.records.end(),
                            [&](auto& b) { return b.rank == rank; })
            ->communicator;
      };
      ASSERT_NE(of(0), of(g)) << seed;
    }
  }
}

/// A kernel of PyTorch before 2.1: what it does stands at the call in which it was launched.
std::string old_kineto(std::string_view call, std::string_view shape, std::string_view type) {
  return fmt::format(
      R"({{"distributedInfo":{{"rank":1,"world_size":4}},"traceEvents":[)"
      R"({{"ph":"X","cat":"user_annotation","name":"nccl:{}","tid":7,"ts":10,"dur":5,)"
      R"("args":{{"External id":3,"Input Dims":[{}],"Input type":["{}"]}}}},)"
      R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","tid":7,"ts":12,"dur":1,)"
      R"("args":{{"cbid":211,"correlation":55,"External id":55}}}},)"
      R"({{"ph":"X","cat":"kernel","name":"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t",)"
      R"("ts":20,"dur":100,"args":{{"correlation":55,"External id":55,"stream":84}}}}]}})",
      call, shape, type);
}

TEST(KinetoTest, WithoutArgumentsTheCallThatLaunchedTheKernelSaysWhatItIs) {
  struct Row {
    std::string_view call, shape, type;
    LoggedKind kind;
    std::int64_t bytes;
  };
  for (const Row& row :
       {Row{"all_reduce", "[19618307]", "float", LoggedKind::all_reduce, 4 * 19618307},
        Row{"_reduce_scatter_base", "[64, 1024]", "c10::BFloat16", LoggedKind::reduce_scatter,
            2 * 64 * 1024 / 4},
        Row{"_all_gather_base", "[16777216]", "signed char", LoggedKind::all_gather, 16777216},
        Row{"all_to_all", "[]", "", LoggedKind::all_to_all, 0}}) {
    JobLog job;
    read_log(old_kineto(row.call, row.shape, row.type), "rank1.json", job);
    ASSERT_EQ(job.records.size(), 1U) << row.call;
    EXPECT_EQ(job.records[0].kind, row.kind);
    EXPECT_EQ(job.records[0].bytes, row.bytes) << row.call;
    EXPECT_EQ(job.records[0].rank, 1);
    EXPECT_EQ(job.communicators[0].id, "stream 84");
    EXPECT_EQ(job.communicators[0].ranks, 4);
    EXPECT_TRUE(job.communicators[0].counted);
  }
  JobLog job;
  std::string launched_elsewhere = old_kineto("all_reduce", "[8]", "float");
  launched_elsewhere.replace(launched_elsewhere.find("\"ts\":12"), 7, "\"ts\":16");
  read_log(launched_elsewhere, "rank1.json", job);
  EXPECT_THAT(job.records, IsEmpty());
  EXPECT_EQ(job.left_out.size(), 1U);
}

}  // namespace
}  // namespace collbench

// NCCL's RAS: how many collectives each rank has issued, and which ranks do not answer.
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
using testing::Pair;

/// Rank and count of all-reduces.
std::vector<std::pair<int, int>> all_reduces(const JobLog& job) {
  std::vector<std::pair<int, int>> counts;
  for (const IssuedCount& each : job.issued) {
    if (each.kind == LoggedKind::all_reduce) {
      counts.emplace_back(each.rank, static_cast<int>(each.count));
    }
  }
  return counts;
}

TEST(NcclRasTest, OfAStatusInJsonTheCountsAndTheMissingAreTaken) {
  const JobLog job = job_logged(R"({"nccl_version": "2.30.7", "communicators_count": 2,
    "communicators": [{"hash": "0x1", "size": 0, "ranks": []},
      {"hash": "0x2", "size": 4, "missing_ranks_count": 2,
       "ranks": [{"rank": 0, "collective_counts": {"AllReduce": 7, "Broadcast": "many"}},
                 {"rank": 9, "collective_counts": {"AllReduce": 7}},
                 {"rank": 1, "collective_counts": {"AllReduce": 6}}],
       "missing_ranks": [{"rank": 2}, 3, 99, "four"]}]})");
  EXPECT_THAT(all_reduces(job), ElementsAre(Pair(0, 7), Pair(1, 6)));
  EXPECT_THAT(job.missing_ranks, ElementsAre(2, 3));
  EXPECT_THAT(job.left_out, Contains(Pair("communicators of RAS without a size", 1)));
  EXPECT_THAT(job.left_out, Contains(Pair("ranks of RAS without number or counts", 1)));
}

TEST(NcclRasTest, WhereOnlyTheirNumberIsSaidTheMissingAreThoseThatAreNotListed) {
  const auto missing = [](const std::string& count) {
    return job_logged(R"({"nccl_version": "2.30.7", "communicators": [{"hash": "0x2", "size": 3,
      "missing_ranks_count": )" +
                      count +
                      R"(, "ranks": [{"rank": 1, "collective_counts": {"AllReduce": 7}}]}]})")
        .missing_ranks;
  };
  EXPECT_THAT(missing("2"), ElementsAre(0, 2));
  // One of two that are not listed: which, cannot be told.
  EXPECT_THAT(missing("1"), testing::IsEmpty());
}

// One order for all: a rank that has issued as many as the others has issued the same ones.
TEST(NcclRasTest, ARankWithFewerOfOneKindAndMoreOfAnotherCalledOthers) {
  std::string ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks += std::string(rank == 0 ? "" : ",") + R"({"rank": )" + std::to_string(rank) +
             R"(, "collective_counts": {"AllReduce": )" + (rank == 2 ? "899" : "900") +
             R"(, "AllGather": )" + (rank == 2 ? "5" : "4") + "}}";
  }
  JobLog job = job_logged(
      R"({"nccl_version": "2.30.7", "communicators": [{"hash": "0x2", "size": 4, "ranks": [)" +
      ranks + "]}]}");
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_THAT(verdict.standstill.called_others,
              ElementsAre("rank 2 called 899 x all-reduce, 5 x all-gather, most others 900 and 4"));
  EXPECT_THAT(verdict.standstill.behind, testing::IsEmpty());
  EXPECT_FALSE(verdict.is_healthy());
}

TEST(NcclRasTest, OneOperationBehindIsNoStandstillAndTwoAre) {
  const auto verdict_on = [](int count, JobLog& job) {
    job = job_logged(
        R"({"nccl_version": "2.30.7", "communicators": [{"hash": "0x2", "size": 2, "ranks": [)"
        R"({"rank": 0, "collective_counts": {"AllReduce": 7}},)"
        R"({"rank": 1, "collective_counts": {"AllReduce": )" +
        std::to_string(count) + "}}]}]}");
    return judge_job(job, {});
  };
  JobLog job;
  const JobVerdict one = verdict_on(6, job);
  EXPECT_THAT(one.standstill.behind, ElementsAre(1));
  EXPECT_TRUE(one.is_healthy());
  EXPECT_THAT(job.notes, Contains(testing::HasSubstr("usually on its way")));
  const JobVerdict two = verdict_on(5, job);
  EXPECT_THAT(two.standstill.behind, ElementsAre(1));
  EXPECT_FALSE(two.is_healthy());
}

}  // namespace
}  // namespace collbench

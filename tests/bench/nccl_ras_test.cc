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

TEST(NcclRasTest, WhoIsBehindInOneStatusMayBeOnItsWay) {
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
  EXPECT_THAT(job.notes, Contains(testing::HasSubstr("may be on its way")));
  const JobVerdict two = verdict_on(5, job);
  EXPECT_THAT(two.standstill.behind, ElementsAre(1));
  EXPECT_TRUE(two.is_healthy()) << "hosts run ahead of each other by the calls of a step";
}

/// A status of 32 ranks of NCCL 2.24 with these errors (docs/userguide, troubleshooting/ras.rst).
std::string incomplete_status(const std::string& errors) {
  return "Job summary\n===========\n\nCommunicators... (2.05s)\n=============\n\n"
         "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
         "    #  in group  per comm  per node  per comm  in group\n"
         "    0         1         4       7-8        32        32   RUNNING  INCOMPLETE\n\n"
         "Errors\n======\n\n" +
         errors + "\nWarnings\n========\n\nTIMEOUT\n  Encountered 2 communication timeouts\n";
}

std::string hang_seen(JobLog& job) {
  for (const FoundCause& found : judge_job(job, {}).causes) {
    if (std::string_view(found.cause->name) == "hang") return found.seen;
  }
  return {};
}

constexpr const char* missing_21 =
    "\n#0-0 (cf264af53edbe986) INCOMPLETE\n  Missing communicator data from 1 rank\n"
    "  The missing rank: 21\n";

TEST(NcclRasTest, AProcessThatDoesNotAnswerOrIsDeadIsAFinding) {
  JobLog silent = job_logged(
      incomplete_status(std::string("INCOMPLETE\n  Missing communicator data from 1 job process\n"
                                    "  Process 3487984 on node 172.16.64.213 managing GPU 5\n") +
                        missing_21));
  EXPECT_THAT(silent.missing_ranks, ElementsAre(21));
  EXPECT_THAT(silent.notes, testing::IsEmpty());
  EXPECT_THAT(silent.left_out, testing::IsEmpty());
  EXPECT_THAT(hang_seen(silent),
              testing::AllOf(testing::HasSubstr("rank 21 is missing"),
                             testing::HasSubstr("process 3487984 on node 172.16.64.213 managing "
                                                "GPU 5 does not answer")));
  JobLog dead = job_logged(incomplete_status(
      std::string("DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
                  "  Process 3487984 on node 172.16.64.213 managing GPU 5\n") +
      missing_21));
  EXPECT_THAT(hang_seen(dead), testing::HasSubstr("managing GPU 5 is dead"));
}

TEST(NcclRasTest, SeveralMissingRanksStandInALine) {
  const JobLog job = job_logged(incomplete_status(
      "#0-0 (cf264af53edbe986) INCOMPLETE\n  Missing communicator data from 3 ranks\n"
      "  The missing ranks: 4,5,99\n"));
  EXPECT_THAT(job.missing_ranks, ElementsAre(4, 5));
  EXPECT_THAT(job.left_out, ElementsAre(Pair("missing ranks that RAS does not name", 1)));
}

TEST(NcclRasTest, WhereMoreAreMissingThanRasListsTheirNumberIsAFinding) {
  JobLog job = job_logged(incomplete_status(
      "INCOMPLETE\n  Missing communicator data from 16 job processes\n\n"
      "#0-0 (cf264af53edbe986) INCOMPLETE\n  Missing communicator data from 16 ranks\n"));
  EXPECT_THAT(hang_seen(job), testing::HasSubstr("each of 16 job processes does not answer"));
  EXPECT_THAT(job.left_out, ElementsAre(Pair("missing ranks that RAS does not name", 16)));
  EXPECT_THAT(job.notes, testing::IsEmpty());
}

}  // namespace
}  // namespace collbench

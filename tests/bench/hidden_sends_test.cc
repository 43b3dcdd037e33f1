// Of jobs whose ranks send to single others, which the log does not show: whom a late rank of a
// pipeline holds up is not named, nor the stage that ends a step last; the late rank of a job with
// the same communicators and no sends is.
#include "bench/logs/hidden_sends.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/logs/job_verdict.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int ranks_of_job = 16;
constexpr int ranks_of_group = 4;

/// Four groups of four ranks that follow each other, and in the end one of all.
struct StagedJob {
  JobLog log{};

  void operate(const std::string& name, const std::vector<int>& members,
               const std::function<double(int rank)>& delay_us) {
    const int communicator = log.communicator(name, name, static_cast<int>(members.size()));
    log.communicators[static_cast<std::size_t>(communicator)].members = members;
    for (int k = 0; k < 12; ++k) {
      double last = 0;
      for (const int member : members) last = std::max(last, delay_us(member));
      for (std::size_t rank = 0; rank < members.size(); ++rank) {
        LogRecord& record = log.records.emplace_back();
        record.communicator = communicator;
        record.rank = static_cast<int>(rank);
        record.process = log.process(fmt::format("pid {}", members[rank]));
        log.processes[static_cast<std::size_t>(record.process)].rank = members[rank];
        record.kind = LoggedKind::all_reduce;
        record.sequence = k;
        record.bytes = 1 << 20;
        record.duration_us = 500 + last - delay_us(members[rank]) + (k + members[rank]) % 3;
      }
    }
  }
  void operate_groups(const std::function<double(int rank)>& delay_us) {
    for (int first = 0; first < ranks_of_job; first += ranks_of_group) {
      operate(fmt::format("group of {}", first), {first, first + 1, first + 2, first + 3},
              delay_us);
    }
  }
  void operate_all(const std::function<double(int rank)>& delay_us) {
    std::vector<int> all;
    for (int rank = 0; rank < ranks_of_job; ++rank) all.push_back(rank);
    operate("world", all, delay_us);
  }
  Lateness lateness() { return judge_job(log, {Bandwidth{3e9}, ""}).lateness; }
};

double on_time_everywhere(int) { return 0; }
/// How late the stages of a healthy pipeline end a step: the first last.
double by_stage(int rank) { return 2000.0 * (3 - rank / ranks_of_group); }

TEST(HiddenSendsTest, StagesThatEndAStepInTheirOrderAreNotLate) {
  StagedJob job;
  job.operate_groups(on_time_everywhere);
  job.operate_all(by_stage);
  const Lateness found = job.lateness();
  EXPECT_THAT(found.late, IsEmpty());
  EXPECT_THAT(found.unknown, HasSubstr("the 4 groups of ranks that other communicators have come "
                                       "one after the other to 'world', evenly"));
  StagedJob reversed;
  reversed.operate_groups(on_time_everywhere);
  reversed.operate_all([](int rank) { return 6000 - by_stage(rank); });
  EXPECT_THAT(reversed.lateness().unknown, HasSubstr("pipeline"));
}

TEST(HiddenSendsTest, AGroupThatIsLateBySoMuchAgainstAllOthersIsNamed) {
  StagedJob job;
  job.operate_groups(on_time_everywhere);
  job.operate_all([](int rank) { return rank / ranks_of_group == 1 ? 6000 : 0; });
  EXPECT_THAT(job.lateness().late, ElementsAre(4, 5, 6, 7));
}

TEST(HiddenSendsTest, UnevenStepsAreOfRanksThatDiffer) {
  StagedJob job;
  job.operate_groups(on_time_everywhere);
  job.operate_all([](int rank) {
    constexpr std::array<double, 4> delays = {6000, 900, 500, 0};
    return delays.at(static_cast<std::size_t>(rank / ranks_of_group));
  });
  EXPECT_THAT(job.lateness().late, ElementsAre(0, 1, 2, 3));
}

TEST(HiddenSendsTest, OfTwoHalvesOneAlwaysComesFirst) {
  StagedJob job;
  for (const int first : {0, 8}) {
    job.operate(
        fmt::format("half of {}", first),
        {first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 7},
        on_time_everywhere);
  }
  const auto late_half = [](int rank) { return rank < 8 ? 4000.0 : 0.0; };
  job.operate_all(late_half);
  EXPECT_THAT(job.lateness().late, IsEmpty());
  // Communicators across the halves wait for all of one by what they do themselves.
  for (int rank = 0; rank < 8; ++rank) {
    job.operate(fmt::format("pair of {}", rank), {rank, rank + 8}, late_half);
  }
  EXPECT_THAT(job.lateness().late, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(HiddenSendsTest, RanksOfOnePlaceInGroupsThatNothingJoinsMayBeAChain) {
  const auto chain = [](int rank) { return rank % ranks_of_group == 2 ? 3000.0 : 0.0; };
  StagedJob job;
  job.operate_groups(chain);
  const Lateness found = job.lateness();
  EXPECT_THAT(found.late, IsEmpty());
  EXPECT_THAT(found.unknown, HasSubstr("rank 2, 6, 10, 14 comes last, in parts of the job that no "
                                       "communicator here joins"));
  StagedJob joined;
  joined.operate_groups(chain);
  joined.operate("the third of each", {2, 6, 10, 14}, on_time_everywhere);
  EXPECT_THAT(joined.lateness().late, ElementsAre(2, 6, 10, 14)) << "none waits for another";
  StagedJob elsewhere;
  elsewhere.operate_groups([](int rank) { return rank == 2 || rank == 5 ? 3000.0 : 0.0; });
  EXPECT_THAT(elsewhere.lateness().late, ElementsAre(2, 5)) << "not at one place";
}

TEST(HiddenSendsTest, ARankThatComesEvenlyAfterEachOtherMayWaitForIt) {
  StagedJob job;
  job.operate_all([](int rank) { return 400.0 * rank; });
  EXPECT_THAT(job.lateness().late, IsEmpty());
}

}  // namespace
}  // namespace collbench

// Of a job that stands still: what is said of ranks that have not issued, or not started, what the
// others wait in, and of those whose log is not here.
#include "bench/logs/standstill.h"

#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/job_logged.h"

#include "bench/logs/job_files.h"
#include "bench/logs/job_lines.h"
#include "bench/logs/job_report.h"
#include "bench/logs/job_verdict.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* groups =
    R"("pg_config": {"0": {"name": "0", "desc": "world", "ranks": "[0, 1, 2, 3]"}}, )"
    R"("pg_status": {"0": {"last_enqueued_collective": "-1"}})";

/// A dump with collective 6, which has ended, and 7 in a state.
std::string dump_with(const std::string& state, const std::string& name = "all_reduce",
                      const std::string& type = "Float") {
  const auto entry = [&](int sequence, const std::string& in, const std::string& of) {
    return fmt::format(
        R"({{"process_group": ["0", "world"], "collective_seq_id": {}, "profiling_name": )"
        R"("nccl:{}", "input_sizes": [[1000]], "input_dtypes": ["{}"], "output_sizes": )"
        R"([[1000]], "output_dtypes": ["Float"], "state": "{}", "is_p2p": false}})",
        sequence, of, type, in);
  };
  return fmt::format(R"({{"version": "2.10", {}, "entries": [{}, {}]}})", groups,
                     entry(6, "completed", "all_reduce"), entry(7, state, name));
}

JobLog dumped(const std::vector<std::string>& by_rank) {
  JobLog job;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    read_log(by_rank[rank], fmt::format("fr_{}.json", rank), job);
  }
  return job;
}

/// The line among the answers, and what the cause says.
struct Said {
  Standstill still{};
  std::string line{};
  std::string seen{};
};

Said said_of(JobLog job) {
  const JobVerdict verdict = judge_job(job, {});
  Said said{verdict.standstill, {}, {}};
  for (const JobAnswer& answer : job_answers({job, verdict, {}})) {
    if (answer.text.starts_with("stands still")) said.line = answer.text;
  }
  for (const FoundCause& found : verdict.causes) {
    if (std::string_view(found.cause->name) == "hang") said.seen = found.seen;
  }
  return said;
}

TEST(StandstillOfDumpsTest, ARankThatHasNotStartedWhatOthersHaveIsNamed) {
  const std::string in = dump_with("started");
  const Said said = said_of(dumped({in, dump_with("scheduled"), in, in}));
  EXPECT_THAT(said.still.missing, IsEmpty());
  EXPECT_THAT(said.still.not_started, ElementsAre(1));
  EXPECT_THAT(said.line, HasSubstr("not started by rank 1"));
  EXPECT_THAT(said.seen, HasSubstr("rank 1 (fr_1.json) issued it and has not started it"));
  EXPECT_THAT(said.seen, Not(HasSubstr("the network or a kernel hangs")));
}

TEST(StandstillOfDumpsTest, WhereNoStartIsRecordedNoneIsMissed) {
  const std::string in = dump_with("scheduled");
  const Said said = said_of(dumped({in, in, in, in}));
  EXPECT_THAT(said.still.not_started, IsEmpty());
  EXPECT_THAT(said.seen, HasSubstr("which cannot be told from this"));
}

TEST(StandstillOfDumpsTest, OnlyWhereAllHaveStartedTheNetworkOrAKernelHangs) {
  const std::string in = dump_with("started");
  EXPECT_THAT(said_of(dumped({in, in, in, in})).seen, HasSubstr("the network or a kernel hangs"));
}

// A dump is written when a collective times out, or when it is asked for.
TEST(StandstillOfDumpsTest, WhatMayBeADumpOfARunningJobIsSaidToBe) {
  const std::string in = dump_with("started");
  const JobLog running = dumped({in, in, in, in});
  EXPECT_THAT(said_of(running).line, HasSubstr("if the job did not go on where its log ends"));
  JobLog ended = running;
  ended.ended = "with exit code 1";
  EXPECT_THAT(said_of(ended).line, Not(HasSubstr("if the job did not go on")));
  const JobLog differs = dumped({in, in, dump_with("started", "_all_gather_base"), in});
  EXPECT_THAT(said_of(differs).line, Not(HasSubstr("if the job did not go on")));
}

TEST(StandstillOfDumpsTest, OfARankWithoutADumpItCannotBeToldWhetherItIsThere) {
  const std::string in = dump_with("started");
  const Said said = said_of(dumped({in, in, in}));
  EXPECT_THAT(said.still.unheard, ElementsAre(3));
  EXPECT_THAT(said.line, HasSubstr("whether rank 3 issued it cannot be told"));
  EXPECT_THAT(said.seen, HasSubstr("no log of rank 3, which may not have issued it"));
  EXPECT_THAT(said.seen, Not(HasSubstr("the network or a kernel hangs")));
}

TEST(StandstillOfDumpsTest, RanksThatCallSomethingElseHaveNotAllIssuedIt) {
  const std::string in = dump_with("started");
  const Said said = said_of(dumped({in, in, dump_with("started", "_all_gather_base"), in}));
  EXPECT_THAT(said.line, HasSubstr("where ranks call different collectives"));
  EXPECT_THAT(said.seen, HasSubstr("all-gather of 4000 B by rank 2"));
}

TEST(StandstillOfDumpsTest, ADumpWithoutEntriesIsOfARankThatHasIssuedNothing) {
  const std::string in = dump_with("started");
  const std::string none = fmt::format(R"({{"version": "2.10", {}}})", groups);
  const Said said = said_of(dumped({in, in, in, none}));
  EXPECT_THAT(said.still.missing, ElementsAre(3));
  EXPECT_THAT(said.still.unheard, IsEmpty());
}

TEST(StandstillOfDumpsTest, AnotherTypeOfAsManyBytesIsADifferentCollective) {
  const std::string in = dump_with("started");
  const Said said = said_of(dumped({in, dump_with("started", "all_reduce", "Int"), in, in}));
  EXPECT_THAT(said.seen, HasSubstr("all-reduce of 4000 B (int) by rank 1"));
  EXPECT_THAT(said.seen, HasSubstr("all-reduce of 4000 B (float) by ranks 0, 2, 3"));
  EXPECT_THAT(said.seen, Not(HasSubstr("the network or a kernel hangs")));
}

/// Of a dump of what has not ended only, as of PyTorch 2.9 in NVIDIA/nvidia-resiliency-ext
/// (tests/attribution/unit/fr_traces): one group, its open collectives, and the last that the rank
/// has issued and completed.
std::string open_dump(const std::string& group, const std::string& ranks,
                      const std::vector<int>& open, int enqueued, int completed) {
  std::vector<std::string> entries;
  for (const int sequence : open) {
    entries.push_back(fmt::format(
        R"({{"pg_id": 11, "process_group": ["{}", "experts"], "collective_seq_id": {}, )"
        R"("profiling_name": "nccl:all_to_all", "input_sizes": [[1000]], )"
        R"("input_dtypes": ["Float"], "state": "scheduled", "is_p2p": false}})",
        group, sequence));
  }
  return fmt::format(
      R"({{"version": "2.9", "pg_config": {{"{}": {{"name": "{}", "desc": "experts", )"
      R"("ranks": "{}"}}}}, "pg_status": {{"11": {{"last_enqueued_collective": {}, )"
      R"("last_completed_collective": "{}"}}}}, "entries": [{}]}})",
      group, group, ranks, enqueued, completed, fmt::join(entries, ","));
}

TEST(StandstillOfDumpsTest, WhatARankSaysToHaveCompletedIsNoStandstillOfAnother) {
  const std::string waits = open_dump("72", "[0, 1, 2]", {8}, 8, 7);
  const Said said = said_of(dumped({waits, open_dump("72", "[0, 1, 2]", {6, 7}, 7, 5), waits}));
  EXPECT_EQ(said.still.sequence, 8);
  EXPECT_THAT(said.still.missing, ElementsAre(1));
}

TEST(StandstillOfDumpsTest, TheNumbersOfTransfersAreNotThoseOfCollectives) {
  const std::string waits = open_dump("72", "[0, 1]", {7}, 13998, 13996);
  const Said said = said_of(dumped({waits, waits}));
  EXPECT_EQ(said.still.sequence, 7);
  EXPECT_THAT(said.still.missing, IsEmpty());
}

TEST(StandstillOfDumpsTest, RanksThatSeveralCommunicatorsWaitForAreAllNamed) {
  const std::string none_of[] = {open_dump("73", "[0, 1]", {}, -1, -1),
                                 open_dump("74", "[2, 3]", {}, -1, -1)};
  JobLog job = dumped({open_dump("73", "[0, 1]", {5}, 5, 4), none_of[0],
                       open_dump("74", "[2, 3]", {5}, 5, 4), none_of[1]});
  const Said said = said_of(job);
  EXPECT_THAT(said.still.missing, ElementsAre(1));
  EXPECT_THAT(said.still.missing_elsewhere, ElementsAre(3));
  EXPECT_THAT(said.line, HasSubstr("not issued by rank 1; other communicators wait for rank 3"));
  EXPECT_THAT(said.seen, HasSubstr("; other communicators wait for rank 3"));
  const JobVerdict verdict = judge_job(job, {});
  std::ostringstream out;
  write_job_json(out, {job, verdict, {}});
  EXPECT_THAT(out.str(), HasSubstr("\"missing_ranks\": [\n    1,\n    3\n  ]"));
}

// Rank 1 is missing from a pair because it waits for rank 2 in another, which waits in nothing.
TEST(StandstillOfDumpsTest, ARankThatIsHeldUpItselfIsNotNamed) {
  const Said said =
      said_of(dumped({open_dump("a", "[0, 1]", {5}, 5, 4), open_dump("b", "[1, 2]", {5}, 5, 4),
                      open_dump("b", "[1, 2]", {}, 4, 4)}));
  EXPECT_THAT(said.still.missing, ElementsAre(2));
  EXPECT_THAT(said.still.missing_elsewhere, IsEmpty());
}

TEST(StandstillOfDumpsTest, ARankThatWaitsForATransferIsNotNamedBesideOneThatWaitsForNothing) {
  std::string receives = open_dump("c", "[1, 2]", {}, 0, 0);
  receives.insert(receives.rfind(']'),
                  R"({"process_group": ["c", "pipeline"], "p2p_seq_id": 9, "state": "scheduled", )"
                  R"("profiling_name": "nccl:recv 0<-1", "is_p2p": true})");
  const Said said =
      said_of(dumped({open_dump("a", "[0, 1]", {5}, 5, 4), receives,
                      open_dump("b", "[2, 3]", {}, 4, 4), open_dump("b", "[2, 3]", {5}, 5, 4)}));
  EXPECT_THAT(said.still.missing, ElementsAre(2));
  EXPECT_THAT(said.still.missing_elsewhere, IsEmpty());
}

std::string without_last_entry(const std::string& dump) {
  return dump.substr(0, dump.rfind(R"(, {"process_group")"));
}

TEST(StandstillOfDumpsTest, OfARankWhoseDumpWasCutItCannotBeToldWhetherItIsThere) {
  const std::string in = dump_with("started");
  const std::string before = without_last_entry(in);
  const Said said = said_of(dumped({before, in, in, before + "]}"}));
  EXPECT_THAT(said.still.missing, ElementsAre(3));
  EXPECT_THAT(said.still.unheard, ElementsAre(0));
  EXPECT_THAT(said.seen, HasSubstr("no whole log of rank 0, which may not have issued it"));
}

TEST(StandstillOfDumpsTest, TheMembersOfAGroupThatACutDumpHasLostAreThoseOfOthers) {
  const std::string in = dump_with("started");
  std::string cut = in;  // in JSON of PyTorch the entries stand before the groups
  cut.erase(cut.find(groups), std::string_view(groups).size() + 2);
  cut.resize(cut.size() - 2);
  JobLog job = dumped({cut, in, in, in});
  ASSERT_EQ(job.communicators.size(), 2U);
  join_groups_of_cut_dumps(job);
  ASSERT_EQ(job.communicators.size(), 1U);
  EXPECT_EQ(job.communicator("0 0,1,2,3", "0", 4), 0) << "is known by its new place";
  EXPECT_THAT(said_of(job).still.missing, IsEmpty());
}

std::string transfer_dump(const std::string& name, const std::string& state) {
  return fmt::format(R"({{"version": "2.10", {}, "entries": [{{"process_group": ["0", "world"], )"
                     R"("p2p_seq_id": 1, "collective_seq_id": 0, "profiling_name": "nccl:{}", )"
                     R"("state": "{}", "is_p2p": true}}]}})",
                     groups, name, state);
}

TEST(StandstillOfDumpsTest, AReceiveThatHasNotEndedIsNamedWithTheRankItWaitsFor) {
  JobLog job =
      dumped({transfer_dump("send 0->1", "completed"), transfer_dump("recv 1<-0", "started"),
              transfer_dump("recv 2<-1", "started")});
  require_content(job);
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_FALSE(verdict.is_healthy());
  EXPECT_THAT(verdict.standstill.waited_for, ElementsAre(0));
  EXPECT_THAT(
      transfer_words(verdict.standstill),
      HasSubstr("rank 1 in a receive from rank 0 (started), rank 2 in a receive from rank 1 "
                "(started); rank 0 has nothing open"));
}

std::string first_version(int group, int sequence) {
  return fmt::format(
      R"({{"version": "1.5", "entries": [{{"pg_id": {}, "seq_id": {}, "profiling_name": )"
      R"("nccl:all_reduce", "input_sizes": [[1000]], "state": "completed", )"
      R"("duration_ms": 1.5}}]}})",
      group, sequence);
}

TEST(FlightRecorderTest, TheFirstVersionNumbersEntriesUnderAnotherKey) {
  JobLog job;
  for (const int rank : {0, 1}) {
    read_flight_recorder_json(first_version(0, 7), fmt::format("fr_{}", rank), job);
  }
  ASSERT_EQ(job.records.size(), 2U);
  EXPECT_EQ(job.records[1].sequence, 7);
  EXPECT_EQ(job.records[1].rank, 1);
  EXPECT_THAT(job.notes, IsEmpty());
  EXPECT_EQ(operations_of(job).size(), 1U);
}

TEST(FlightRecorderTest, TheFirstVersionDoesNotSayWhichRanksASmallerGroupHas) {
  JobLog job;
  read_flight_recorder_json(first_version(1, 7), "fr_0", job);
  EXPECT_THAT(job.records, IsEmpty());
  EXPECT_EQ(job.left_out.size(), 1U);
}

}  // namespace
}  // namespace collbench

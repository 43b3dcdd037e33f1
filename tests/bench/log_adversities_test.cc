// Logs as they come from jobs that went wrong while they were logged, or that somebody has made to
// mislead: the answer is right, or none is given.
#include <algorithm>
#include <cmath>
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
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;

constexpr std::int64_t vector_bytes = 26214400;
constexpr double usual_us = 915;  // of 4 ranks at 43 GB/s

/// An entry of Flight Recorder; completed where it has a duration.
std::string flight_entry(const char* group, int sequence, double ms,
                         const char* name = "nccl:all_reduce") {
  return fmt::format(
      R"({{"process_group":["{}","{}"],"profiling_name":"{}","collective_seq_id":{},)"
      R"("input_sizes":[[{}]],"output_sizes":[[{}]],"input_dtypes":["Float"],)"
      R"("output_dtypes":["Float"],"state":"{}"{}}})",
      group, group, name, sequence, vector_bytes / 4, vector_bytes / 4,
      ms > 0 ? "completed" : "started", ms > 0 ? fmt::format(R"(,"duration_ms":{})", ms) : "");
}

struct FlightGroup {
  const char* name;
  std::string ranks;
};

void read_flight(int rank, const std::vector<FlightGroup>& groups,
                 const std::vector<std::string>& entries, JobLog& job) {
  std::vector<std::string> config;
  for (const FlightGroup& group : groups) {
    config.push_back(fmt::format(R"("{}":{{"name":"{}","desc":"{}","ranks":"{}"}})", group.name,
                                 group.name, group.name, group.ranks));
  }
  read_log(fmt::format(R"({{"version":"2.10","pg_config":{{{}}},"entries":[{}]}})",
                       fmt::join(config, ","), fmt::join(entries, ",")),
           fmt::format("rank_{}.json", rank), job);
}

const std::vector<FlightGroup> world = {{"0", "[0, 1, 2, 3]"}};

/// Milliseconds of a rank where rank `late` comes 1.5 ms after the others; -1: none does.
double ms_of(int rank, int late) { return usual_us / 1000 + (late < 0 || rank == late ? 0 : 1.5); }

std::vector<std::string> flight_entries(int rank, int late, int from, int to) {
  std::vector<std::string> entries;
  for (int k = from; k < to; ++k) entries.push_back(flight_entry("0", k, ms_of(rank, late)));
  return entries;
}

/// A line of Inspector; `rate_gbs` as Inspector counts it from the true time.
std::string inspector_line(int rank, int sequence, double us, double true_us) {
  return fmt::format(
      R"({{"header":{{"id":"0x1","rank":{},"n_ranks":4,"nnodes":2}},)"
      R"("metadata":{{"inspector_output_format_version":"v4.0","hostname":"h{}","pid":{}}},)"
      R"("coll_perf":{{"coll":"AllReduce","coll_sn":{},"coll_msg_size_bytes":{},)"
      R"("coll_exec_time_us":{:.0f},"coll_algobw_gbs":{:.6f},"coll_timing_source":"kernel_gpu"}}}})"
      "\n",
      rank, rank / 2, 100 + rank, sequence, vector_bytes, us,
      static_cast<double>(vector_bytes) / true_us * 1e-3);
}

// PyTorch gives the groups of a new attempt the old names, and their numbers begin anew.
TEST(LogAdversitiesTest, AGroupThatWasMadeAnewIsNotTakenForCoalescedCollectives) {
  JobLog job;
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> entries = flight_entries(rank, 2, 0, 10);
    for (const std::string& entry : flight_entries(rank, 1, 0, 6)) entries.push_back(entry);
    read_flight(rank, world, entries, job);
  }
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_EQ(verdict.operations, 6);
  EXPECT_EQ(verdict.bytes, 6 * vector_bytes);
  EXPECT_EQ(verdict.late(), 1) << "of the last attempt";
  EXPECT_EQ(job.left_out["Flight Recorder entries of a group before it was made anew under its "
                         "name"],
            40);
}

TEST(LogAdversitiesTest, CoalescedCollectivesAreOneOfTheBytesOfAll) {
  JobLog job;
  for (int rank = 0; rank < 2; ++rank) {
    read_flight(rank, {{"0", "[0, 1]"}},
                {flight_entry("0", 1, 1, "nccl:allreduce_coalesced"),
                 flight_entry("0", 1, 1, "nccl:allreduce_coalesced"), flight_entry("0", 2, 1)},
                job);
  }
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_EQ(verdict.operations, 2);
  EXPECT_EQ(verdict.bytes, 3 * vector_bytes);
  EXPECT_THAT(job.left_out, IsEmpty());
}

// Rank 0 wrote its file while it was in operation 4, the others later.
TEST(LogAdversitiesTest, AnOperationThatOthersHaveCompletedIsNoStandstill) {
  JobLog job;
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> entries = flight_entries(rank, -1, 0, rank == 0 ? 4 : 8);
    if (rank == 0) entries.push_back(flight_entry("0", 4, 0));
    read_flight(rank, world, entries, job);
  }
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_FALSE(verdict.standstill.sequence.has_value());
  EXPECT_THAT(verdict.causes, IsEmpty());
}

TEST(LogAdversitiesTest, AGroupWithoutMembersIsCalledAlikeByAllItsEntries) {
  JobLog job;
  std::string entries;
  for (const int sequence : {1, 2}) {
    entries += fmt::format(
        R"({}{{"process_group":["7","dp"],"profiling_name":"nccl:all_reduce","duration_ms":2,)"
        R"("collective_seq_id":{},"state":"completed","input_sizes":[[8]],"output_sizes":[[8]],)"
        R"("input_dtypes":["Float"],"output_dtypes":["Float"]}})",
        sequence == 1 ? "" : ",", sequence);
  }
  read_log(fmt::format(R"({{"version":"2.10","entries":[{}]}})", entries), "rank_0.json", job);
  ASSERT_EQ(job.communicators.size(), 1U);
  EXPECT_EQ(job.communicators[0].id, "group 7");
  EXPECT_EQ(job.communicators[0].name, "dp");
}

TEST(LogAdversitiesTest, TheCutLogOfTheLateRankMakesItNeitherSporadicNorNobody) {
  JobLog job;
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> entries = flight_entries(rank, 2, 0, rank == 2 ? 4 : 16);
    if (rank == 2)
      entries.push_back(R"({"process_group":["0","0"],"collective_seq_id":4,)"
                        R"("profiling_name":"nccl:all_reduce","state":"completed"})");
    read_flight(rank, world, entries, job);
  }
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_FALSE(verdict.lateness.spread);
  EXPECT_FALSE(std::isnan(verdict.lateness.waiting_share));
  EXPECT_FALSE(verdict.lateness.sporadic());
  const bool told = verdict.late() == 2;
  EXPECT_TRUE(told || !verdict.lateness.unknown.empty()) << verdict.lateness.waiting_share;
}

// Job rank 3 comes last to a pair, and waits for rank 2 in the world: it may come from there.
TEST(LogAdversitiesTest, ARankThatWaitsInAnotherCommunicatorIsNotLate) {
  JobLog job;
  const std::vector<FlightGroup> groups = {{"0", "[0, 1, 2, 3]"}, {"pair", "[1, 3]"}};
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> entries;
    for (int k = 0; k < 12; ++k) {
      entries.push_back(flight_entry("0", k, ms_of(rank, 2)));
      if (rank % 2 == 1) entries.push_back(flight_entry("pair", k, ms_of(rank, 3)));
    }
    read_flight(rank, groups, entries, job);
  }
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_THAT(verdict.lateness.late, ElementsAre(2));
  EXPECT_FALSE(verdict.lateness.spread);
  EXPECT_FALSE(verdict.lateness.sporadic());
}

// 26.2 MB between two ranks in so many milliseconds.
NetworkVerdict network_of_pairs(double ms) {
  JobLog job;
  const std::vector<FlightGroup> groups = {{"a", "[0, 2]"}, {"b", "[1, 3]"}};
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> entries;
    for (int k = 0; k < 12; ++k) entries.push_back(flight_entry(groups[rank % 2U].name, k, ms));
    read_flight(rank, {groups[rank % 2U]}, entries, job);
  }
  return judge_job(job, {}).network;
}

TEST(LogAdversitiesTest, PairsOfHostsThatAreNotSaidMayHaveOneAdapterOrAPartOfIt) {
  EXPECT_EQ(network_of_pairs(1.21).state, NetworkState::healthy) << "21.6 GB/s";
  const NetworkVerdict shared = network_of_pairs(4);
  EXPECT_EQ(shared.state, NetworkState::unknown) << "6.55 GB/s";
  EXPECT_THAT(shared.unknown, HasSubstr("which hosts it has is not said"));
  EXPECT_EQ(network_of_pairs(20).state, NetworkState::slow) << "1.31 GB/s";
}

// Waiting that goes round among all is in their pairs, too, where it may fall on one by chance.
TEST(LogAdversitiesTest, APairThatSeemsLateInWaitingThatGoesRoundIsNotNamed) {
  JobLog job;
  const std::vector<FlightGroup> groups = {{"0", "[0, 1, 2, 3]"}, {"pair", "[1, 3]"}};
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<std::string> entries;
    for (int k = 0; k < 12; ++k) {
      entries.push_back(flight_entry("0", k, ms_of(rank, k % 4)));
      if (rank % 2 == 1) entries.push_back(flight_entry("pair", k, ms_of(rank, 3)));
    }
    read_flight(rank, groups, entries, job);
  }
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_THAT(verdict.lateness.late, IsEmpty());
  EXPECT_TRUE(verdict.lateness.spread);
}

TEST(LogAdversitiesTest, AFileOfARankThatIsInNoGroupIsLeftOutWithThatReason) {
  JobLog job;
  read_flight(9, world, flight_entries(0, 2, 0, 3), job);
  EXPECT_EQ(job.left_out["Flight Recorder entries of a group that the rank of the file is not in"],
            3);
}

// A rank whose times are a thousand times as long would never be the last.
TEST(LogAdversitiesTest, TimesInAnotherUnitAreKnownByTheRateBesideThem) {
  for (const double unit : {1e3, 1e-3}) {
    JobLog job;
    for (int rank = 0; rank < 4; ++rank) {
      std::string lines;
      for (int k = 0; k < 12; ++k) {
        const double us = usual_us + (rank == 2 ? 0 : 1500.0);
        lines += inspector_line(rank, k, us * (rank == 2 ? unit : 1), us);
      }
      read_log(lines, fmt::format("f{}", rank), job);
    }
    const JobVerdict verdict = judge_job(job, {});
    EXPECT_EQ(job.left_out["Inspector records whose time is not in microseconds, by the rate "
                           "beside it"],
              12)
        << unit;
    EXPECT_FALSE(verdict.late().has_value()) << unit;
    EXPECT_NE(verdict.lateness.unknown, "") << unit;
  }
}

TEST(LogAdversitiesTest, AVectorOfOneDimensionHasAllItsElementsInHorovodsTimeline) {
  std::string text = R"([{"name":"process_name","ph":"M","pid":0,)"
                     R"("args":{"start_time_since_epoch_in_micros":1}})";
  for (int k = 1; k <= 8; ++k) {
    const int at = 10000 * k;
    text += fmt::format(
        R"(,{{"ph":"B","name":"NEGOTIATE_ALLREDUCE","ts":{},"pid":{}}})"
        R"(,{{"ph":"X","name":"0","ts":{},"pid":{},"dur":0}})"
        R"(,{{"ph":"X","name":"1","ts":{},"pid":{},"dur":0}})"
        R"(,{{"ph":"E","ts":{},"pid":{}}},{{"ph":"B","name":"ALLREDUCE","ts":{},"pid":{}}})"
        R"(,{{"ph":"B","name":"NCCL_ALLREDUCE","ts":{},"pid":{}}},{{"ph":"E","ts":{},"pid":{}}})"
        R"(,{{"ph":"E","ts":{},"pid":{},"args":{{"dtype":"float32","shape":"[{}]"}}}})",
        at, k, at, k, at + 2500, k, at + 2510, k, at + 2511, k, at + 2512, k, at + 3100, k,
        at + 3110, k, vector_bytes / 4);
  }
  JobLog job;
  read_log(text + "]", "timeline.json", job);
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_EQ(verdict.bytes, 8 * vector_bytes);
  EXPECT_EQ(verdict.late(), 1);
  EXPECT_FALSE(verdict.standstill.sequence.has_value());
  // The log ends while rank 0 has asked for a tensor that rank 1 has not.
  JobLog stuck;
  read_log(text + R"(,{"ph":"B","name":"NEGOTIATE_ALLREDUCE","ts":90000,"pid":9},)"
                  R"({"ph":"X","name":"0","ts":90000,"pid":9,"dur":0},)",
           "timeline.json", stuck);
  const JobVerdict waits = judge_job(stuck, {});
  EXPECT_THAT(waits.standstill.missing, ElementsAre(1));
  EXPECT_TRUE(waits.standstill.may_go_on);
  EXPECT_FALSE(waits.is_healthy());
}

TEST(LogAdversitiesTest, ARankThatRasDoesNotListIsMissing) {
  const auto status = [](int missing) {
    return fmt::format(
        R"({{"nccl_version":"2.30.7","communicators_count":1,"communicators":[{{"hash":"0x1",)"
        R"("size":3,"ranks_count":2,"missing_ranks_count":{},"ranks":[)"
        R"({{"rank":0,"collective_counts":{{"AllReduce":7}}}},)"
        R"({{"rank":2,"collective_counts":{{"AllReduce":7}}}}]}}]}})",
        missing);
  };
  JobLog job;
  read_log(status(1), "ras.json", job);
  EXPECT_THAT(job.missing_ranks, ElementsAre(1));
  JobLog brief;  // lists some ranks only, and misses none
  read_log(status(0), "ras.json", brief);
  EXPECT_THAT(brief.missing_ranks, IsEmpty());
}

TEST(LogAdversitiesTest, AGoalProgramOfFewerOrOtherRanksThanItSaysIsToldSo) {
  const auto notes = [](int said, int last) {
    JobLog job;
    read_log(fmt::format("num_ranks {}\nrank 0 {{\nl0: send 8b to {} tag 0\n}}\nrank {} {{\nl0: "
                         "recv 8b from 0 tag 0\n}}\n",
                         said, last, last),
             "a.goal", job);
    return job.notes;
  };
  EXPECT_THAT(notes(2, 1), Not(Contains(HasSubstr("ranks"))));
  EXPECT_THAT(notes(3, 1), Contains(HasSubstr("says 3 ranks and has programs of 2")));
  EXPECT_THAT(notes(2, 5), Contains(HasSubstr("says 2 ranks and has programs of 2")));
}

/// Inspector's and Flight Recorder's logs of 6 all-reduces of 4 ranks; Flight Recorder has so many
/// more.
JobLog in_two_formats(int more) {
  JobLog job;
  for (int rank = 0; rank < 4; ++rank) {
    std::string lines;
    for (int k = 0; k < 6; ++k) lines += inspector_line(rank, k, usual_us, usual_us);
    read_log(lines, "inspector", job);
    read_flight(rank, world, flight_entries(rank, -1, 0, 6 + more), job);
  }
  return job;
}

TEST(LogAdversitiesTest, ARunInTwoFormatsHasEachCollectiveOnce) {
  JobLog job = in_two_formats(1);
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_EQ(verdict.operations, 7);
  EXPECT_EQ(verdict.bytes, 7 * vector_bytes);
  EXPECT_NEAR(verdict.transfer_us_of_rank0, 7 * usual_us, 1);
  EXPECT_THAT(job.notes, Contains(HasSubstr("have the same collectives: they are counted once")));
}

TEST(LogAdversitiesTest, TwoLateOperationsAreNotFourWhereTwoFormatsHaveThem) {
  JobLog job;
  for (int rank = 0; rank < 4; ++rank) {
    const double us = rank == 2 ? usual_us : 30 * usual_us;
    std::string lines;
    for (int k = 0; k < 2; ++k) lines += inspector_line(rank, k, us, us);
    read_log(lines, "inspector", job);
    read_flight(rank, world, {flight_entry("0", 0, us / 1000), flight_entry("0", 1, us / 1000)},
                job);
  }
  const Lateness found = judge_job(job, {}).lateness;
  EXPECT_EQ(found.operations, 2);
  EXPECT_THAT(found.late, IsEmpty());
  EXPECT_THAT(found.unknown, HasSubstr("only 2 of 2 operations"));
}

TEST(LogAdversitiesTest, OtherCollectivesInAnotherFormatAreOthers) {
  JobLog job;
  for (int rank = 0; rank < 4; ++rank) {
    read_log(inspector_line(rank, 0, usual_us, usual_us), "inspector", job);
    const std::string gathers = flight_entry("0", 0, usual_us / 1000, "nccl:_allgather_base");
    read_flight(rank, world, {gathers, flight_entry("0", 1, usual_us / 1000)}, job);
    for (const char* kind : {"nccl:reduce_scatter", "nccl:broadcast"}) {
      read_flight(rank, {{"1", "[0, 1, 2, 3]"}}, {flight_entry("1", 0, 1, kind)}, job);
    }
  }
  JobLog apart = job;
  for (LogRecord& record : apart.records) {
    const auto c = static_cast<std::size_t>(record.communicator);
    if (apart.communicators[c].format == "Flight Recorder") record.bytes += 4;
  }
  EXPECT_EQ(judge_job(job, {}).operations, 1);
  EXPECT_EQ(judge_job(apart, {}).operations, 2);
}

TEST(LogAdversitiesTest, ChakraFilesOfAFolderWithoutNumbersAreRanksOfOneTrace) {
  constexpr std::string_view trace =
      R"({"workload_graph":[{"Id":1,"Name":"a","NodeType":7,"comm_type":0,"comm_size":4096}]})";
  JobLog job;
  for (const char* file : {"run/alpha.json", "run/beta.json"}) read_log(trace, file, job);
  ASSERT_EQ(job.programs.size(), 2U);
  EXPECT_EQ(job.programs[1].rank, 1);
  EXPECT_THAT(job.notes, Contains(HasSubstr("in the order of their names")));
  const std::vector<JobOperation> operations = operations_of(job);
  ASSERT_EQ(operations.size(), 1U);
  EXPECT_EQ(operations[0].records.size(), 2U);
}

TEST(LogAdversitiesTest, ARateAThousandTimesTooLowMayBeAUnitAndIsSaidToBe) {
  const auto notes_at = [](double us) {
    JobLog job;
    for (int rank = 0; rank < 4; ++rank) {
      read_flight(rank, world, {flight_entry("0", 0, us / 1000), flight_entry("0", 1, us / 1000)},
                  job);
    }
    job.formats = {"Kineto"};
    NetworkExpectation expectation;
    expectation.bus = Bandwidth{43e9};
    EXPECT_EQ(judge_job(job, expectation).network.state, NetworkState::slow);
    return job.notes;
  };
  EXPECT_THAT(notes_at(1000 * usual_us), Contains(HasSubstr("a trace in nanoseconds throughout")));
  EXPECT_THAT(notes_at(3 * usual_us), Not(Contains(HasSubstr("nanoseconds"))));
}

}  // namespace
}  // namespace collbench

// What is concluded from the records of a job whose truth is known, where a nearby rule would
// conclude something else.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/logs/lateness.h"
#include "bench/logs/log_readers.h"
#include "bench/logs/operations.h"
#include "bench/logs/standstill.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double transfer_us = 1000;

void add_record(JobLog& job, const std::string& communicator, int ranks, int rank, int sequence,
                double duration_us, RecordState state = RecordState::completed) {
  LogRecord& record = job.records.emplace_back();
  record.communicator = job.communicator(communicator, communicator, ranks);
  record.rank = rank;
  record.process = job.process(fmt::format("pid {}", rank));
  job.processes[static_cast<std::size_t>(record.process)].rank = rank;
  record.kind = LoggedKind::all_reduce;
  record.state = state;
  record.sequence = sequence;
  record.bytes = 1 << 20;
  record.duration_us = duration_us;
}

/// `delay_us(operation, rank)`: how late a rank comes to an operation that all end together.
Lateness lateness_with(int ranks, int operations,
                       const std::function<double(int operation, int rank)>& delay_us) {
  JobLog job;
  for (int k = 0; k < operations; ++k) {
    double last = 0;
    for (int rank = 0; rank < ranks; ++rank) last = std::max(last, delay_us(k, rank));
    for (int rank = 0; rank < ranks; ++rank) {
      add_record(job, "world", ranks, rank, k, transfer_us + last - delay_us(k, rank));
    }
  }
  const std::vector<JobOperation> all = operations_of(job);
  return lateness_of(job, all, JobRanks(job), true);
}

/// Ends differ by a microsecond, so that each of those that come together is last at times.
double about(double us, int operation, int rank) {
  return us + (operation % 2 == rank % 2 ? 1 : 0);
}

TEST(LatenessTest, TwoThatComeTogetherAreAGroupAmongEightButChanceAmongThree) {
  const auto late = [](int operation, int rank) {
    return rank == 1 || rank == 2 ? about(2000, operation, rank) : 0;
  };
  EXPECT_THAT(lateness_with(8, 20, late).late, ElementsAre(1, 2));
  const Lateness of_three = lateness_with(3, 20, late);
  EXPECT_THAT(of_three.late, IsEmpty());
  EXPECT_TRUE(of_three.spread);
}

TEST(LatenessTest, TwoThatAreLateByTurnsAreNoGroup) {
  const auto by_turns = [](int operation, int rank) {
    return rank == 1 + operation % 2 ? 2000.0 : 0.0;
  };
  const Lateness found = lateness_with(8, 20, by_turns);
  EXPECT_THAT(found.late, IsEmpty());
  EXPECT_TRUE(found.spread);
}

TEST(LatenessTest, ARankThatIsLastTwiceIsNotToldFromChance) {
  // Most of the waiting is for rank 3, in two operations; each other rank is late a little once.
  const auto twice = [](int operation, int rank) {
    if (operation < 2) return rank == 3 ? 50'000.0 : 0.0;
    return operation < 5 && rank == operation - 2 ? 400.0 : 0.0;
  };
  const Lateness found = lateness_with(4, 40, twice);
  EXPECT_GE(found.waited, 3);
  EXPECT_THAT(found.late, IsEmpty());
  EXPECT_NE(found.unknown, "");
  // Three times suffice.
  const auto thrice = [&](int operation, int rank) {
    return operation == 39 && rank == 3 ? 50'000.0 : twice(operation, rank);
  };
  EXPECT_THAT(lateness_with(4, 40, thrice).late, ElementsAre(3));
}

TEST(StandstillTest, WhatARankHasIssuedItIsNotMissingFrom) {
  JobLog job;
  for (int rank = 0; rank < 4; ++rank) {
    for (int k = 0; k < 5; ++k) add_record(job, "world", 4, rank, k, transfer_us);
    if (rank != 3) add_record(job, "world", 4, rank, 5, unknown_time, RecordState::started);
  }
  const Standstill found = standstill_of(job, JobRanks(job));
  EXPECT_EQ(found.sequence, 5);
  EXPECT_THAT(found.missing, ElementsAre(3));
}

TEST(StandstillTest, TheCommunicatorThatARankIsMissingFromExplainsTheOthers) {
  for (const bool explaining_is_first : {false, true}) {
    JobLog job;
    const std::string names[] = {explaining_is_first ? "tensor" : "data",
                                 explaining_is_first ? "data" : "tensor"};
    for (const std::string& name : names) {
      for (int rank = 0; rank < 3; ++rank) {
        add_record(job, name, 3, rank, 0, transfer_us);
        const bool is_missing = name == "tensor" && rank == 2;
        if (!is_missing) add_record(job, name, 3, rank, 1, unknown_time, RecordState::started);
      }
    }
    const Standstill found = standstill_of(job, JobRanks(job));
    EXPECT_EQ(found.communicator, "tensor") << explaining_is_first;
    EXPECT_THAT(found.missing, ElementsAre(2)) << explaining_is_first;
  }
}

TEST(KinetoTest, WhatIsGatheredOrScatteredCountsByThePartOfOneRank) {
  const auto bytes = [](const std::string& name, int in, int out) {
    JobLog job;
    read_log(
        fmt::format(R"({{"distributedInfo":{{"rank":0,"world_size":4}},"traceEvents":[)"
                    R"({{"ph":"X","cat":"kernel","name":"ncclDevKernel_x","ts":10,"dur":5,)"
                    R"("args":{{"Collective name":"{}","In msg nelems":{},"Out msg nelems":{},)"
                    R"("dtype":"Float","Group size":4,"Process Group Name":"0"}}}}]}})",
                    name, in, out),
        "rank0.json", job);
    return job.records.at(0).bytes;
  };
  EXPECT_EQ(bytes("_allgather_base", 100, 400), 400);
  EXPECT_EQ(bytes("reduce_scatter_tensor", 400, 100), 400);
  EXPECT_EQ(bytes("allreduce", 400, 400), 1600);
}

}  // namespace
}  // namespace collbench

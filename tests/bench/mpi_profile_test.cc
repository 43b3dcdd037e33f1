// The records of `collbench profile`: what the reader makes of them, and what it refuses.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/mpi_profiled.h"
#include "tests/core/flipped_bits.h"

#include "bench/logs/job_verdict.h"
#include "bench/logs/log_readers.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "transports/mpi/profile/profile_format.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Pair;

/// Steps of 20 ms in which rank 2 arrives 10 ms after the others and the transfer takes 1 ms.
std::vector<Profile> late_rank() {
  std::vector<Profile> profiles;
  for (int rank = 0; rank < 4; ++rank) {
    Profile& one = profiles.emplace_back(rank);
    for (int step = 0; step < 10; ++step) {
      const int late = rank == 2 ? 10'000 : 0;
      one.add(step * 20'000 + late, 11'000 - late);
    }
  }
  return profiles;
}

TEST(MpiProfileTest, ARankThatIsLateIsNamedAndTheNetworkIsJudgedWithoutTheWaiting) {
  JobLog job = job_of(late_rank());
  EXPECT_THAT(job.formats, ElementsAre("MPI profile"));
  EXPECT_TRUE(job.of_processors);
  NetworkExpectation expectation;
  expectation.bus = Bandwidth{12.5e9};
  const JobVerdict verdict = judge_job(job, expectation);
  EXPECT_EQ(verdict.late(), 2);
  EXPECT_EQ(verdict.network.state, NetworkState::healthy);
  EXPECT_NEAR(verdict.network.measured_gbs, 1.5 * (8 << 20) / 1e-3 * 1e-9, 1e-6);
}

/// Rank 2 arrives last, and its processor is busy with others when it could go on: it leaves late,
/// and with that it explains how late it comes to the next.
TEST(MpiProfileTest, WithOneClockTheLastToArriveIsSeenHoweverLongItStays) {
  std::vector<Profile> profiles = late_rank();
  for (Profile& one : profiles) {
    one.header.clocks = {{{0, 0, 0}, {1'000'000'000, 0, 0}}};
    for (std::size_t step = 0; step < one.calls.size(); ++step) {
      if (one.header.rank == 2) one.calls[step].duration_ns = 13'000'000;
      if (one.header.rank == 1) one.calls[step].duration_ns = 12'000'000;
      if (one.header.rank == 3) one.calls[step].duration_ns = 10'500'000;
    }
  }
  JobLog job = job_of(profiles);
  const JobVerdict verdict = judge_job(job, {Bandwidth{1e9}, ""});
  EXPECT_THAT(verdict.mean_wait_us, ElementsAre(10'000, 10'000, 0, 10'000));
  EXPECT_EQ(verdict.transfer_us_of_rank0, 10 * 11'000) << "no longer than its own calls";
  EXPECT_LE(verdict.sizes[0].transfer_us, verdict.sizes[0].duration_us);
  EXPECT_EQ(verdict.late(), std::nullopt);
}

/// Of late_rank() with one clock, where rank 2 had no processor for so long before each call, and
/// the others for so long.
JobVerdict with_delays(std::uint32_t of_rank_2, std::uint32_t of_others) {
  std::vector<Profile> profiles = late_rank();
  for (Profile& one : profiles) {
    one.header.clocks = {{{0, 0, 0}, {1'000'000'000, 0, 0}}};
    for (MpiCallRecord& call : one.calls) {
      call.not_own_us = one.header.rank == 2 ? of_rank_2 : of_others;
    }
  }
  JobLog job = job_of(profiles);
  return judge_job(job, {Bandwidth{1e9}, ""});
}

TEST(MpiProfileTest, ARankThatHadNoProcessorIsNotLate) {
  const JobVerdict verdict = with_delays(10'000, 0);
  EXPECT_EQ(verdict.late(), std::nullopt);
  EXPECT_NEAR(verdict.lateness.held_up_share, 1, 1e-6);
  EXPECT_EQ(verdict.lateness.operations, 9) << "what was before the first is unknown";
  EXPECT_TRUE(verdict.is_healthy());
  EXPECT_THAT(verdict.mean_wait_us, ElementsAre(10'000, 10'000, 0, 10'000)) << "they waited still";
}

TEST(MpiProfileTest, WhatAllRanksLackExcusesNoneOfThemAndALittleNotTheRest) {
  const JobVerdict alike = with_delays(9'000, 9'000);
  EXPECT_EQ(alike.late(), 2);
  EXPECT_NEAR(alike.lateness.held_up_share, 0, 1e-6);
  const JobVerdict partly = with_delays(4'000, 0);
  EXPECT_EQ(partly.late(), 2);
  EXPECT_NEAR(partly.lateness.held_up_share, 0.4, 1e-6);
}

// Rank 2 leaves each all-reduce 10 ms after the others, and does as much between two as they.
TEST(MpiProfileTest, ARankThatWasHeldUpInTheCollectiveBeforeIsNotLate) {
  std::vector<Profile> profiles = late_rank();
  for (Profile& one : profiles) {
    one.header.clocks = {{{0, 0, 0}, {1'000'000'000, 0, 0}}};
    if (one.header.rank != 2) continue;
    for (MpiCallRecord& call : one.calls) call.duration_ns += 10'000'000;
  }
  JobLog job = job_of(profiles);
  const JobVerdict verdict = judge_job(job, {Bandwidth{1e8}, ""});
  EXPECT_EQ(verdict.late(), std::nullopt);
  EXPECT_NEAR(verdict.lateness.held_up_share, 1, 1e-6);
}

// The oldest call stands where the next would be written.
TEST(MpiProfileTest, OwnWorkIsCountedInTheOrderOfTimeInARingThatHasWrapped) {
  Profile profile(0);
  for (const int start : {5'000, 6'500, 2'000, 3'700}) profile.add(start, 500);
  profile.header.capacity = 4;
  profile.header.calls = 6;
  JobLog job = job_of({profile});
  ASSERT_EQ(job.records.size(), 4U);
  EXPECT_TRUE(std::isnan(job.records[0].own_us));
  EXPECT_FLOAT_EQ(job.records[1].own_us, 1'200);
  EXPECT_FLOAT_EQ(job.records[2].own_us, 800);
  EXPECT_FLOAT_EQ(job.records[3].own_us, 1'000);
}

TEST(MpiProfileTest, OwnWorkIsThatSinceAllOfTheCommunicatorMet) {
  Profile profile(0);
  for (const int start : {0, 2'000, 4'000, 6'000, 8'000, 10'000}) profile.add(start, 500);
  profile.groups = {{88, 2, 0, {"group"}}};
  profile.header.communicators = 2;
  for (const std::size_t in_group : {1U, 2U, 4U}) profile.calls[in_group].communicator = 1;
  const JobLog job = job_of({profile});
  EXPECT_FLOAT_EQ(job.records[1].own_us, 1'500);
  EXPECT_FLOAT_EQ(job.records[3].own_us, 4'500) << "with what was before the calls of its group";
  EXPECT_FLOAT_EQ(job.records[4].own_us, 1'500) << "all met after the group had";
}

// Two hosts of two ranks, the second of which works 10 ms longer before its own call: to the call
// of each of its ranks with one of the first host both come late, with no work since their last.
TEST(MpiProfileTest, AHostIsToBlameForWorkBeforeACallOfItsOwnRanks) {
  std::vector<Profile> profiles;
  for (int rank = 0; rank < 4; ++rank) {
    Profile& one = profiles.emplace_back(rank);
    const auto host = static_cast<std::uint64_t>(rank / 2),
               pair = static_cast<std::uint64_t>(rank % 2);
    one.groups = {{80 + host, 2, rank % 2, {"host"}}, {90 + pair, 2, rank / 2, {"pair"}}};
    one.header.communicators = 3;
    one.header.clocks = {{{0, 0, 0}, {1'000'000'000, 0, 0}}};
    for (int step = 0; step < 12; ++step) {
      const int late = rank >= 2 ? 10'000 : 0;
      one.add(step * 20'000 + 4'000 + late, 100, 1024);
      one.add(step * 20'000 + 4'200 + late, 11'000 - late);
      for (std::uint32_t call : {0U, 1U}) {
        MpiCallRecord& added = one.calls[one.calls.size() - 2 + call];
        added.communicator = 1 + call;
        added.sequence = static_cast<std::uint32_t>(step);
      }
    }
  }
  JobLog job = job_of(profiles);
  const JobVerdict verdict = judge_job(job, {Bandwidth{1e9}, ""});
  EXPECT_THAT(verdict.lateness.late, ElementsAre(2, 3));
  EXPECT_NEAR(verdict.lateness.held_up_share, 1. / 12, 1e-6) << "the first of each pair";
}

TEST(MpiProfileTest, WhatWasNoOwnWorkAddsUpOverCallsThatDoNotBlock) {
  Profile profile(0);
  for (const int start : {0, 2'000, 5'000}) profile.add(start, 500);
  profile.calls[1].duration_ns = -1;
  profile.calls[1].non_blocking = 1;
  profile.calls[1].not_own_us = 300;
  profile.calls[2].not_own_us = 1'000;
  const JobLog job = job_of({profile});
  EXPECT_FLOAT_EQ(job.records[1].own_us, 1'200);
  EXPECT_FLOAT_EQ(job.records[2].own_us, 3'200);
  profile.calls[2].not_own_us = 9'000;  // of several threads
  EXPECT_FLOAT_EQ(job_of({profile}).records[2].own_us, 0);
}

// Of two communicators, neither of all ranks.
TEST(MpiProfileTest, EveryRankOfTheJobIsCountedWithoutACommunicatorOfAll) {
  std::vector<Profile> profiles = late_rank();
  for (Profile& one : profiles) {
    one.world.id += static_cast<std::uint64_t>(one.header.rank % 2);
    one.world.ranks = 2;
    one.world.rank = one.header.rank / 2;
  }
  JobLog job = job_of(profiles);
  EXPECT_EQ(judge_job(job, {}).mean_wait_us.size(), 4U);
}

TEST(MpiProfileTest, AJobThatEndedByItselfDoesNotHang) {
  std::vector<Profile> profiles = late_rank();
  profiles[1].calls.pop_back();
  profiles[1].header.calls -= 1;
  for (Profile& one : profiles) one.header.finished = 0;
  for (const std::size_t rank : {0U, 2U, 3U}) profiles[rank].calls.back().duration_ns = -1;
  JobLog job = job_of(profiles);
  job.ended = "with exit code 7";
  const JobVerdict verdict = judge_job(job, {});
  ASSERT_FALSE(verdict.causes.empty());
  EXPECT_STREQ(verdict.causes[0].cause->name, "ended_early");
  EXPECT_THAT(verdict.causes[0].seen, HasSubstr("the job ended with exit code 7"));
}

TEST(MpiProfileTest, TwoRunsInOneFolderAreNotJudgedTogether) {
  std::vector<Profile> profiles = late_rank();
  JobLog once = job_of(profiles);
  for (const Profile& again : late_rank()) read_log(again.text(), "copy", once);
  EXPECT_EQ(judge_job(once, {Bandwidth{1e9}, ""}).late(), 2) << "copies of the files are one run";
  for (Profile& other : late_rank()) {
    other.header.pid += 100;
    for (MpiCallRecord& call : other.calls) call.duration_ns += 77;
    profiles.push_back(other);
  }
  JobLog twice = job_of(profiles);
  const JobVerdict verdict = judge_job(twice, {Bandwidth{1e9}, ""});
  EXPECT_EQ(verdict.late(), std::nullopt);
  EXPECT_EQ(verdict.network.state, NetworkState::unknown);
  EXPECT_THAT(verdict.lateness.unknown,
              HasSubstr("node1 pid 100 and node1 pid 200 are both rank 0"));
  EXPECT_EQ(verdict.network.unknown, verdict.lateness.unknown);
  EXPECT_TRUE(verdict.is_healthy()) << "nothing is said";
}

TEST(MpiProfileTest, RunsOfDifferentSizesInOneFolderAreNotGroupsOfOneJob) {
  std::vector<Profile> profiles = late_rank();
  for (int rank = 0; rank < 2; ++rank) {
    Profile& other = profiles.emplace_back(late_rank()[static_cast<std::size_t>(rank)]);
    other.header.pid += 100;
    other.header.ranks = other.world.ranks = 2;
    other.world.id = 78;
  }
  JobLog job = job_of(profiles);
  const JobVerdict verdict = judge_job(job, {Bandwidth{1e9}, ""});
  EXPECT_EQ(verdict.late(), std::nullopt);
  EXPECT_THAT(
      verdict.lateness.unknown,
      HasSubstr("node1 pid 100 and node1 pid 200 are both rank 0, and have no communicator"));
}

TEST(MpiProfileTest, ClocksOfOtherHostsAreMovedAlongTheLineOfBothMeasurements) {
  Profile profile(1);
  profile.header.clocks = {{{0, 5'000'000, 1000}, {1'000'000'000, 6'000'000, 1000}}};
  profile.add(500'000, 10);
  const JobLog job = job_of({profile});
  EXPECT_DOUBLE_EQ(job.records[0].start_us, 505'500);
  profile.header.clocks[1].error_ns = -1;  // killed before the second
  EXPECT_DOUBLE_EQ(job_of({profile}).records[0].start_us, 505'000);
}

TEST(MpiProfileTest, ACallThatHasNotEndedIsWhereTheJobStands) {
  std::vector<Profile> profiles = late_rank();
  for (Profile& one : profiles) one.header.finished = 0;
  for (int rank : {0, 1, 3}) {
    profiles[static_cast<std::size_t>(rank)].add(300'000, 0);
    profiles[static_cast<std::size_t>(rank)].calls.back().duration_ns = -1;
  }
  JobLog job = job_of(profiles);
  EXPECT_THAT(job.left_out, Contains(Pair(HasSubstr("did not reach MPI_Finalize"), 4)));
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_EQ(verdict.standstill.sequence, 10);
  EXPECT_THAT(verdict.standstill.missing, ElementsAre(2));
  EXPECT_THAT(job.notes, Contains("did not reach MPI_Finalize: rank 0, 1, 2, 3"));
  EXPECT_THAT(std::string(verdict.causes.front().next()), HasSubstr("gdb -p PID"));
}

TEST(MpiProfileTest, NonBlockingCallsHaveSizesButNoTimes) {
  Profile profile(0);
  profile.add(0, 0, 1024);
  profile.calls[0].duration_ns = -1;
  profile.calls[0].non_blocking = 1;
  profile.header.types[3] = {"MPI_DOUBLE"};
  profile.calls[0].type = 3;
  profile.calls[0].op = MpiOp::max;
  const JobLog job = job_of({profile});
  EXPECT_EQ(job.records[0].state, RecordState::completed);
  EXPECT_TRUE(std::isnan(job.records[0].duration_us));
  EXPECT_EQ(job.records[0].bytes, 1024);
  EXPECT_EQ(job.words[job.records[0].elements], "double max");
}

TEST(MpiProfileTest, WhatIsLostIsCounted) {
  Profile profile(0);
  for (int i = 0; i < 3; ++i) profile.add(i, 1);
  profile.header.capacity = 3;
  profile.header.calls = 10;  // a ring that has wrapped
  profile.header.left_out = 2;
  profile.calls[1].communicator = 9;
  profile.calls[2].start_ns = std::numeric_limits<std::int64_t>::min();
  const JobLog job = job_of({profile});
  EXPECT_EQ(job.records.size(), 1U);
  EXPECT_THAT(job.left_out, Contains(Pair(HasSubstr("had no room (--calls)"), 7)));
  EXPECT_THAT(job.left_out, Contains(Pair(HasSubstr("are damaged"), 2)));
  EXPECT_THAT(job.left_out, Contains(Pair(HasSubstr("beyond 256"), 2)));
  JobLog cut;
  const std::string text = profile.text();
  read_log(text.substr(0, text.size() - 1), "rank", cut);
  EXPECT_THAT(cut.left_out, Contains(Pair(HasSubstr("cut short"), 1)));
}

TEST(MpiProfileTest, AFlippedBitOfAFinishedProfileIsNotReadInSilence) {
  Profile profile(0);
  profile.add(10, 5);
  profile.add(20, 5);
  const std::string unsummed = profile.text();
  profile.header.checksum = crc32c(unsummed);
  const std::string whole = profile.text();
  JobLog sound;
  read_log(whole, "rank", sound);
  EXPECT_EQ(sound.records.size(), 2U);
  for_each_flipped_bit(whole, profile_magic.size(), 1,
                       [](const std::string& damaged, std::size_t at) {
                         JobLog job;
                         try {
                           read_log(damaged, "rank", job);
                         } catch (const InvalidArgument&) {
                           return;
                         }
                         // As if cut short, or of a process that was killed: which is said.
                         EXPECT_FALSE(job.left_out.empty()) << "byte " << at;
                       });
}

TEST(MpiProfileTest, WhatIsNoProfileIsRefused) {
  const auto refusal = [](const std::string& text) -> std::string {
    JobLog job;
    try {
      read_log(text, "file", job);
    } catch (const InvalidArgument& e) {
      return e.what();
    }
    return "";
  };
  Profile profile(0);
  EXPECT_THAT(refusal(profile.text().substr(0, 100)), HasSubstr("file: "));
  EXPECT_THAT(refusal(profile.text().substr(0, sizeof(ProfileHeader))),
              HasSubstr("before its calls"));
  profile.header.call_bytes = 48;
  EXPECT_THAT(refusal(profile.text()), HasSubstr("of another version"));
  profile.header.call_bytes = sizeof(MpiCallRecord);
  profile.header.rank = 4;
  EXPECT_THAT(refusal(profile.text()), HasSubstr("rank 4 of 4"));
}

}  // namespace
}  // namespace collbench

// Which rank is late, of jobs of one communicator whose truth is known, where a nearby rule would
// conclude something else.
#include "bench/logs/lateness.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/job_logged.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double usual_transfer_us = 1000;

/// `delay_us(operation, rank)`: how late a rank comes to an operation that all end together.
Lateness lateness_with(int ranks, int operations,
                       const std::function<double(int operation, int rank)>& delay_us,
                       bool is_stated = true) {
  JobLog job;
  for (int k = 0; k < operations; ++k) {
    double last = 0;
    for (int rank = 0; rank < ranks; ++rank) last = std::max(last, delay_us(k, rank));
    for (int rank = 0; rank < ranks; ++rank) {
      add_record(job, "world", ranks, rank, k, usual_transfer_us + last - delay_us(k, rank));
    }
  }
  const std::vector<JobOperation> all = operations_of(job);
  NetworkVerdict full_speed;
  full_speed.state = NetworkState::healthy;
  full_speed.assumed = !is_stated;
  return lateness_of(job, all, JobRanks(job), full_speed);
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

TEST(LatenessTest, AFewOfManyThatAreLateByTurnsAreNamedAsThat) {
  const auto by_turns = [](int operation, int rank) {
    return rank == 1 + operation % 2 ? 2000.0 : 0.0;
  };
  const Lateness found = lateness_with(8, 20, by_turns);
  EXPECT_THAT(found.late, ElementsAre(1, 2));
  EXPECT_TRUE(found.by_turns);
  EXPECT_TRUE(lateness_with(8, 4, by_turns).spread) << "two of 28 pairs may have it by chance";
  const auto one_of_three = [](int operation, int rank) {
    return rank == operation % 3 ? 2000.0 : 0.0;
  };
  EXPECT_TRUE(lateness_with(8, 21, one_of_three).spread) << "of several";
}

TEST(LatenessTest, RanksThatComeLateTogetherAreAllNamedWhoeverIsLast) {
  // Ranks 4 to 7 of 8 come together; rank 6 is never the last.
  const auto host = [](int operation, int rank) {
    if (rank < 4) return 0.0;
    return rank == 6 ? 2990.0 : about(3000, operation / 2, rank) + (operation % 3 == rank % 3);
  };
  const Lateness found = lateness_with(8, 24, host);
  EXPECT_THAT(found.late, ElementsAre(4, 5, 6, 7));
  EXPECT_FALSE(found.by_turns);
}

// Half of all ranks' blame falls on either of two; what four operations say may be chance, what
// twelve say is not.
TEST(LatenessTest, OneOfTwoThatIsLastAFewTimesMayBeChance) {
  const auto late = [](int, int rank) { return rank == 1 ? 2000.0 : 0.0; };
  const Lateness few = lateness_with(2, 4, late);
  EXPECT_THAT(few.late, IsEmpty());
  EXPECT_NE(few.unknown.find("chance"), std::string::npos) << few.unknown;
  EXPECT_THAT(lateness_with(2, 12, late).late, ElementsAre(1));
  EXPECT_THAT(lateness_with(4, 4, late).late, ElementsAre(1))
      << "one of four is seldom last 4 times";
  // As long as all others together, one wait is one operation.
  const auto once = [](int operation, int rank) {
    return rank == 1 ? (operation == 5 ? 30'000.0 : 400.0) : 0.0;
  };
  EXPECT_THAT(lateness_with(2, 12, once).late, IsEmpty());
}

TEST(LatenessTest, ARankThatIsLastAFewTimesIsNotToldFromChance) {
  // Most of the waiting is for rank 3, in three operations of which two follow each other; each
  // other rank is late a little once.
  const auto thrice = [](int operation, int rank) {
    if (operation < 2 || operation == 39) return rank == 3 ? 50'000.0 : 0.0;
    return operation < 5 && rank == operation - 2 ? 400.0 : 0.0;
  };
  const Lateness found = lateness_with(4, 40, thrice);
  EXPECT_GE(found.waited, 3);
  EXPECT_THAT(found.late, IsEmpty());
  EXPECT_NE(found.unknown, "");
  // Four times apart suffice.
  const auto four_times = [&](int operation, int rank) {
    const bool again = operation == 20 || operation == 30;
    return again && rank == 3 ? 50'000.0 : thrice(operation, rank);
  };
  EXPECT_THAT(lateness_with(4, 40, four_times).late, ElementsAre(3));
}

// A job begins with 20 s of compiling on one rank: those are no thousand late operations.
TEST(LatenessTest, AWaitForTheStartOfTheJobDoesNotHideARankThatIsLateLater) {
  const auto start = [](int operation, int rank) {
    if (operation == 0) return rank == 2 ? 20e6 : 0.0;
    return rank == 5 ? 900.0 : 0.0;
  };
  const Lateness found = lateness_with(8, 80, start);
  EXPECT_THAT(found.late, ElementsAre(5));
  EXPECT_EQ(found.operations, 79);
  EXPECT_THAT(found.slow_start, HasSubstr("rank 2 (pid 2) came 20.00 s late to the first"));
  const auto only_start = [](int operation, int rank) {
    return operation == 0 && rank == 2 ? 20e6 : 0.0;
  };
  const Lateness none = lateness_with(8, 80, only_start);
  EXPECT_THAT(none.late, IsEmpty());
  EXPECT_EQ(none.unknown, "");
}

TEST(LatenessTest, AFewLongWaitsDoNotHideARankThatIsLateInAllOthers) {
  const auto checkpoints = [](int operation, int rank) {
    if (operation % 20 == 19) return rank == 0 ? 1e6 : 0.0;
    return rank == 5 ? 900.0 : 0.0;
  };
  const Lateness found = lateness_with(8, 80, checkpoints);
  EXPECT_THAT(found.late, ElementsAre(0, 5));
  EXPECT_TRUE(found.by_turns);
}

// Of what is waited it is less than a hundredth.
TEST(LatenessTest, ARankThatHardlyAnybodyWaitsForIsNotNamedBesideOneThatAllWaitFor) {
  const auto checkpoints = [](int operation, int rank) {
    if (operation % 20 == 19) return rank == 0 ? 1e6 : 0.0;
    return rank == 5 ? 400.0 : 0.0;
  };
  EXPECT_THAT(lateness_with(8, 80, checkpoints).late, ElementsAre(0));
}

// That a network is as fast as the least that is built does not say that no link is slower.
TEST(LatenessTest, RanksThatEndOneAfterTheOtherMayBeBehindASlowLinkUnlessTheRateWasStated) {
  const auto one_after_the_other = [](int, int rank) { return 60.0 * rank; };
  EXPECT_THAT(lateness_with(8, 40, one_after_the_other, true).late, ElementsAre(7));
  const Lateness assumed = lateness_with(8, 40, one_after_the_other, false);
  EXPECT_THAT(assumed.late, IsEmpty());
  EXPECT_THAT(assumed.unknown, HasSubstr("as one slow link would make it seem"));
  const auto all_alike = [](int, int rank) { return rank == 7 ? 400.0 : 0.0; };
  EXPECT_THAT(lateness_with(8, 40, all_alike, false).late, ElementsAre(7));
  EXPECT_THAT(lateness_with(
                  3, 40, [](int, int rank) { return rank == 2 ? 400.0 : 0.0; }, false)
                  .late,
              IsEmpty())
      << "behind a slow link two of three end together";
}

}  // namespace
}  // namespace collbench

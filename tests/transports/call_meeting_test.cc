#include "transports/cuda/call_meeting.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::Each;
using testing::HasSubstr;

const std::function<void()> nothing = [] {};

std::string said_at(CallMeeting& meeting, Rank rank, const std::function<void()>& work) {
  try {
    meeting.meet(rank, work);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Runs body(rank) for every rank on a thread.
void on_ranks(int ranks, const std::function<void(Rank)>& body) {
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

TEST(CallMeetingTest, TheLastToComeWorksOnWhatAllHaveBrought) {
  constexpr int ranks = 3;
  constexpr int rounds = 300;
  CallMeeting meeting(ranks, Seconds{20});
  std::vector<int> brought(ranks);
  int sum = 0;
  const auto work = [&] {
    sum = 0;
    for (const int each : brought) sum += each;
  };
  std::atomic<int> wrong_sums{0};
  on_ranks(ranks, [&](Rank rank) {
    for (int round = 0; round < rounds; ++round) {
      brought[static_cast<std::size_t>(rank)] = round + rank;
      meeting.meet(rank, work);
      if (sum != ranks * round + 3) ++wrong_sums;
      meeting.meet(rank, nothing);  // nobody changes what another one still reads
    }
  });
  EXPECT_EQ(wrong_sums, 0);
}

TEST(CallMeetingTest, ARankThatComesAfterTheOthersGaveUpIsTurnedAway) {
  CallMeeting meeting(3, Seconds{0.05});
  bool worked = false;
  const auto work = [&worked] { worked = true; };
  std::vector<std::string> said(3);
  on_ranks(3, [&](Rank rank) {
    if (rank != 1) said[static_cast<std::size_t>(rank)] = said_at(meeting, rank, work);
  });
  said[1] = said_at(meeting, 1, work);
  EXPECT_THAT(said, Each(HasSubstr("rank(s) 1 did not come")));
  EXPECT_THAT(said_at(meeting, 0, work), HasSubstr("rank(s) 1 did not come")) << "at once";
  EXPECT_FALSE(worked);
}

TEST(CallMeetingTest, AnAbortEndsWaitsNowAndLater) {
  CallMeeting meeting(2, Seconds{60});
  std::string said;
  std::thread waiting([&] { said = said_at(meeting, 0, nothing); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  meeting.abort("rank 1 has failed");
  meeting.abort("a consequence");
  waiting.join();
  EXPECT_EQ(said, "rank 1 has failed");
  EXPECT_EQ(said_at(meeting, 1, nothing), "rank 1 has failed");
}

// What is worked on belongs to the ranks that wait: they must not leave before.
TEST(CallMeetingTest, NobodyLeavesWorkThatHasBegun) {
  for (int round = 0; round < 20; ++round) {
    CallMeeting meeting(2, Seconds{0.01});
    std::atomic<bool> done{false};
    const auto work = [&] {
      meeting.abort("stopped");
      std::this_thread::sleep_for(std::chrono::milliseconds(15));  // longer than the timeout
      done = true;
    };
    std::vector<std::string> said(2);
    std::atomic<int> early{0};
    on_ranks(2, [&](Rank rank) {
      said[static_cast<std::size_t>(rank)] = said_at(meeting, rank, work);
      if (!done) ++early;
    });
    // A rank that started later than the timeout allows is turned away.
    if (!done) continue;
    EXPECT_THAT(said, Each(""));
    EXPECT_EQ(early, 0);
    EXPECT_EQ(said_at(meeting, 0, nothing), "stopped");
  }
}

TEST(CallMeetingTest, FailedWorkFailsAllRanksAndAllThatComesLater) {
  CallMeeting meeting(2, Seconds{60});
  std::vector<std::string> said(2);
  on_ranks(2, [&](Rank rank) {
    said[static_cast<std::size_t>(rank)] =
        said_at(meeting, rank, [] { throw Unavailable("no schedule"); });
  });
  EXPECT_THAT(said, Each("no schedule"));
  EXPECT_THROW(meeting.meet(1, nothing), Unavailable) << "without waiting for rank 0";
}

}  // namespace
}  // namespace collbench

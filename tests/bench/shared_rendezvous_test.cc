#include "transports/world/shared_rendezvous.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/scripted_world.h"

#include "core/error.h"
#include "transports/world/agreement.h"
#include "transports/world/shared_memory.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SharedMemoryTest, WithoutRoomIsNoMistakeOfTheCaller) {
  const auto huge = [] { SharedMemory::create(Bytes{std::int64_t{1} << 62}); };
  EXPECT_THROW(huge(), TransportError);
}

TEST(SharedRendezvousTest, NobodyLeavesABarrierBeforeAllHaveCome) {
  for (const int ranks : {1, 2, 5, 16}) {
    std::atomic<int> come{0};
    std::atomic<int> early{0};
    as_ranks(ranks, [&](Rank, Rendezvous& rendezvous) {
      for (int turn = 1; turn <= 200; ++turn) {
        ++come;
        rendezvous.barrier();
        if (come < turn * ranks) ++early;
        rendezvous.barrier();
      }
    });
    EXPECT_EQ(early, 0);
    EXPECT_EQ(come, 200 * ranks);
  }
}

TEST(SharedRendezvousTest, GatherGivesEveryRankEverybodysNumbersInOrder) {
  constexpr std::size_t longer_than_a_slot = 1300;
  as_ranks(4, [&](Rank rank, Rendezvous& rendezvous) {
    for (int turn = 0; turn < 3; ++turn) {
      std::vector<std::int64_t> mine(longer_than_a_slot);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        mine[i] = 10'000 * rank + static_cast<std::int64_t>(i) + turn;
      }
      const std::vector<std::int64_t> all = rendezvous.gather(mine);
      ASSERT_EQ(all.size(), 4 * longer_than_a_slot);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto from = static_cast<std::int64_t>(i / longer_than_a_slot);
        const auto at = static_cast<std::int64_t>(i % longer_than_a_slot);
        ASSERT_EQ(all[i], 10'000 * from + at + turn);
      }
    }
  });
}

TEST(SharedRendezvousTest, TextsOfAnyLengthAreGathered) {
  as_ranks(3, [](Rank rank, Rendezvous& rendezvous) {
    const std::vector<std::string> mine = {"", "127.0.0.1:8", "a longer address than the others"};
    const auto index = static_cast<std::size_t>(rank);
    EXPECT_THAT(gather_text(mine[index], rendezvous), ElementsAre(mine[0], mine[1], mine[2]));
  });
}

TEST(SharedRendezvousTest, RanksThatDoNotComeAreNamedToAllThatWait) {
  std::atomic<int> told{0};
  as_ranks(
      4,
      [&](Rank rank, Rendezvous& rendezvous) {
        if (rank == 1 || rank == 3) return;
        try {
          rendezvous.barrier();
        } catch (const TransportError& error) {
          EXPECT_THAT(error.what(), HasSubstr("ranks 1 and 3 did not come within 300 ms"));
          ++told;
        }
      },
      Seconds{0.3});
  EXPECT_EQ(told, 2);
}

TEST(SharedRendezvousTest, AnAbortEndsWaitingWithTheFirstFaultOfItsClass) {
  const auto memory = allocate_pages(Control::bytes(2));
  const Control control = Control::create(memory.get(), 2);
  std::thread waiting([&] {
    SharedRendezvous rendezvous(control, 0, Seconds{20});
    EXPECT_THROW(rendezvous.barrier(), Unavailable);
  });
  control.abort({FaultKind::unavailable, 1, "rank 1 has no bf16"});
  control.abort({FaultKind::transport, 0, "a consequence"});
  waiting.join();
  ASSERT_TRUE(control.fault().has_value());
  EXPECT_EQ(control.fault()->what, "rank 1 has no bf16");
  EXPECT_EQ(control.fault()->rank, 1);
  EXPECT_FALSE(Control::create(memory.get(), 2).fault().has_value());
}

TEST(FaultTest, ExceptionsKeepTheirClassAndOthersNameTheirRank) {
  const auto fault_of = [](auto&& error) {
    try {
      throw error;
    } catch (...) {
      return current_fault(5);
    }
  };
  EXPECT_THROW(raise(fault_of(InvalidArgument("x"))), InvalidArgument);
  EXPECT_THROW(raise(fault_of(Unavailable("x"))), Unavailable);
  EXPECT_THROW(raise(fault_of(TransportError("x"))), TransportError);
  EXPECT_EQ(fault_of(std::runtime_error("no luck")).what, "rank 5: no luck");
}

TEST(NameRanksTest, ReadsAsASentence) {
  const std::vector<Rank> ranks = {0, 1, 3};
  EXPECT_EQ(name_ranks(std::span(ranks).first(1)), "rank 0");
  EXPECT_EQ(name_ranks(std::span(ranks).first(2)), "ranks 0 and 1");
  EXPECT_EQ(name_ranks(ranks), "ranks 0, 1 and 3");
}

}  // namespace
}  // namespace collbench

// Damage on the way over shared memory: what it does without checksums, and what with them.
#include "transports/faults/checked_endpoint.h"

#include <atomic>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/damaged_ranks.h"
#include "tests/transports/thread_ranks.h"

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;

// Where no fault is injected, only a busy machine is waited for.
const ShmOptions patient{.timeout = Seconds{20.0}};
const ShmOptions impatient{.timeout = Seconds{1.0}};

/// Wrong elements of all ranks, or what the first rank threw.
std::string outcome(int ranks, const Damage& damage) {
  std::atomic<int> wrong = 0;
  try {
    on_thread_ranks(
        ranks,
        [&](std::unique_ptr<Endpoint> endpoint) {
          wrong += wrong_elements(std::move(endpoint), damage);
        },
        damage.inject.empty() ? patient : impatient);
  } catch (const TransportError& error) {
    return error.what();
  }
  return wrong > 0 ? "wrong" : "right";
}

TEST(CheckedEndpointTest, EveryAlgorithmGivesItsResults) {
  for (const AlgorithmInfo& algorithm : algorithms()) {
    for (const int ranks : {2, 4}) {
      for (const std::int64_t count : {1, 3, 30'000}) {
        const Damage none{"", true, std::string(algorithm.name), count};
        EXPECT_EQ(outcome(ranks, none), "right") << algorithm.name << " " << ranks << " " << count;
      }
    }
  }
}

// Sums that round: the bits depend on the order of the fold.
TEST(CheckedEndpointTest, SumsHaveTheBitsOfAnUncheckedEndpoint) {
  for (const char* algorithm : {"ring", "direct", "double-tree", "one-shot"}) {
    std::vector<std::vector<float>> results(2);
    for (const bool checksum : {false, true}) {
      on_thread_ranks(4, [&](std::unique_ptr<Endpoint> endpoint) {
        const Rank rank = endpoint->rank();
        const auto communicator = make_schedule_communicator(
            make_schedule(algorithm, 4), damaged(std::move(endpoint), {"", checksum}), "");
        std::vector<float> data(1000);
        for (std::size_t i = 0; i < data.size(); ++i) {
          data[i] = 1.0F / static_cast<float>(i + 7 * static_cast<std::size_t>(rank) + 1);
        }
        const Region region{reinterpret_cast<std::byte*>(data.data()), 1000, DataType::f32};
        communicator->all_reduce(region, region, ReduceOp::avg);
        if (rank == 2) results[checksum ? 1 : 0] = data;
      });
    }
    EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), 4000), 0) << algorithm;
  }
}

TEST(CheckedEndpointTest, AFlippedBitIsAWrongSumWithoutThemAndNamesTheSenderWithThem) {
  for (const char* algorithm : {"ring", "direct", "tree", "recursive-doubling"}) {
    const std::string fault = "corrupt:rank=2:message=1";
    EXPECT_EQ(outcome(4, {fault, false, algorithm}), "wrong") << algorithm;
    EXPECT_THAT(outcome(4, {fault, true, algorithm}), HasSubstr("rank 2 sent corrupt data"))
        << algorithm;
  }
}

TEST(CheckedEndpointTest, LostCutRepeatedAndSwappedMessagesNameTheSender) {
  for (const char* kind : {"drop", "truncate", "duplicate", "reorder"}) {
    const Damage damage{std::string(kind) + ":rank=1:message=2", true};
    EXPECT_THAT(outcome(3, damage), HasSubstr("rank 1 sent")) << kind;
  }
}

TEST(CheckedEndpointTest, AMessageHeldForAnotherOneThatNeverComesHasStruckNothing) {
  std::string before;  // so that the bit is of this test only
  for (int i = 0; i < 40; ++i) before += "drop:message=1000000,";
  const auto has_struck = [] { return (faults_struck() >> 40 & 1) != 0; };
  const std::string alone = before + "reorder:rank=1:message=0";
  EXPECT_EQ(outcome(2, {alone, false, "recursive-doubling"}), "right");
  EXPECT_FALSE(has_struck());
  outcome(3, {before + "reorder:rank=1:message=2", true});
  EXPECT_TRUE(has_struck());
}

TEST(CheckedEndpointTest, AMessageOfAnotherSizeIsRefusedEvenWithoutThem) {
  EXPECT_THAT(outcome(2, {"truncate:rank=1:message=1"}),
              testing::MatchesRegex(
                  "rank 1 sent rank 0 a message of another size than the 60... bytes it expects"));
}

TEST(CheckedEndpointTest, ALateMessageIsNoFault) {
  EXPECT_EQ(outcome(3, {"delay:rank=1:every=1:time=5ms", true}), "right");
  EXPECT_EQ(outcome(3, {"delay:rank=1:every=1:time=5ms", false}), "right");
}

TEST(CheckedEndpointTest, TheLastMessageOfARankThatIsLostEndsTheOthersAtTheTimeout) {
  EXPECT_THAT(outcome(2, {"drop:rank=1:message=0", false, "recursive-doubling", 100, 1}),
              HasSubstr("rank 1"));
}

}  // namespace
}  // namespace collbench

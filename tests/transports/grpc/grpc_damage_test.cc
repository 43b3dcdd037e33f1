// Damage on the way over gRPC streams is found by checksums, and every rank names its sender.
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/damaged_ranks.h"
#include "tests/transports/grpc/grpc_ranks.h"

namespace collbench {
namespace {

using testing::Each;
using testing::HasSubstr;

struct Ended {
  std::vector<std::string> failures;
  int wrong = 0;
};

Ended play(int ranks, const Damage& damage, MakeGrpcEndpoint make = make_grpc_endpoint) {
  std::atomic<int> wrong = 0;
  Ended ended;
  ended.failures = try_on_grpc_ranks(
      ranks,
      [&](std::unique_ptr<GrpcEndpoint> endpoint) {
        wrong += wrong_elements(std::move(endpoint), damage);
      },
      make, [](GrpcOptions& options) { options.timeout = Seconds{2.0}; });
  ended.wrong = wrong;
  return ended;
}

TEST(GrpcDamageTest, CheckedStreamsGiveRightResults) {
  for (const auto make : {make_grpc_endpoint, make_tf_recvbuf_endpoint}) {
    for (const std::int64_t count : {1, 100, 700'000}) {
      const Ended ended = play(3, {"", true, "ring", count}, make);
      EXPECT_THAT(ended.failures, Each("")) << count;
      EXPECT_EQ(ended.wrong, 0) << count;
    }
  }
}

TEST(GrpcDamageTest, AFlippedBitIsAWrongSumWithoutChecksums) {
  const Ended ended = play(3, {"corrupt:rank=1:message=1"});
  EXPECT_THAT(ended.failures, Each(""));
  EXPECT_GT(ended.wrong, 0);
}

TEST(GrpcDamageTest, EveryRankNamesTheSenderOfDamagedData) {
  for (const char* kind : {"corrupt", "drop", "truncate", "duplicate", "reorder"}) {
    for (const std::int64_t count : {100, 700'000}) {
      const Damage damage{std::string(kind) + ":rank=1:message=2", true, "ring", count};
      EXPECT_THAT(play(3, damage).failures, Each(HasSubstr("rank 1 sent"))) << kind << count;
    }
  }
}

TEST(GrpcDamageTest, DelaysAreNoFault) {
  const Ended ended = play(3, {"delay:rank=1:every=1:time=5ms", true});
  EXPECT_THAT(ended.failures, Each(""));
  EXPECT_EQ(ended.wrong, 0);
}

}  // namespace
}  // namespace collbench

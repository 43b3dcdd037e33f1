// Ranks as processes that are killed, stopped or leave: the others end soon and name the culprit.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/grpc/all_meet.h"
#include "tests/transports/grpc/forked_ranks.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

// All-reduces around a ring by hand until something breaks.
void ring_for_ever(GrpcEndpoint& endpoint, std::int64_t count) {
  const int n = endpoint.ranks();
  const Rank next = (endpoint.rank() + 1) % n;
  const Rank previous = (endpoint.rank() + n - 1) % n;
  std::vector<float> own(static_cast<std::size_t>(count), 1.0F), sum = own;
  const auto region = [count](std::vector<float>& v) {
    return Region{reinterpret_cast<std::byte*>(v.data()), count, DataType::f32};
  };
  for (;;) {
    const auto out = endpoint.send(next, region(own));
    endpoint.wait(endpoint.recv_reduce({&previous, 1}, region(own), region(sum), {}));
    endpoint.wait(out);
  }
}

class GrpcFaultsTest : public ::testing::TestWithParam<MakeGrpcEndpoint> {};

INSTANTIATE_TEST_SUITE_P(, GrpcFaultsTest, ::testing::Values(make_grpc_endpoint, make_tcp_endpoint),
                         [](const auto& make) {
                           return make.param == make_tcp_endpoint ? "Tcp" : "Streams";
                         });

TEST_P(GrpcFaultsTest, AKilledRankIsNamedByEveryOther) {
  for (const std::int64_t count : {1, 3'000'000}) {
    ForkedRanks ranks(4, Seconds{20.0}, GetParam(),
                      [count](GrpcEndpoint& endpoint) { ring_for_ever(endpoint, count); });
    ranks.signal(2, SIGKILL);
    for (const Rank r : {0, 1, 3}) EXPECT_THAT(ranks.outcome(r), HasSubstr("rank 2 was lost"));
    EXPECT_LT(ranks.age(), Seconds{8.0});
  }
}

TEST_P(GrpcFaultsTest, AStoppedRankIsNamedByEveryOtherAfterTheTimeout) {
  ForkedRanks ranks(4, Seconds{1.5}, GetParam(),
                    [](GrpcEndpoint& endpoint) { ring_for_ever(endpoint, 100'000); });
  ranks.signal(2, SIGSTOP);
  for (const Rank r : {0, 1, 3}) {
    EXPECT_THAT(ranks.outcome(r), HasSubstr("rank 2 did not answer for 1.5 s"));
  }
  EXPECT_LT(ranks.age(), Seconds{12.0});
}

// It answers no question while it computes; the others ask several times.
TEST_P(GrpcFaultsTest, ARankThatComputesForLessThanTheTimeoutIsWaitedFor) {
  ForkedRanks ranks(3, Seconds{4.0}, GetParam(), [](GrpcEndpoint& endpoint) {
    for (int k = 0; k < 2; ++k) {
      if (endpoint.rank() == 1) usleep(2'500'000);
      all_meet(endpoint);
    }
  });
  for (const Rank r : {0, 1, 2}) EXPECT_EQ(ranks.outcome(r), "done");
}

TEST_P(GrpcFaultsTest, ARankThatGivesUpTellsTheOthersWhy) {
  ForkedRanks ranks(3, Seconds{20.0}, GetParam(), [](GrpcEndpoint& endpoint) {
    if (endpoint.rank() == 1) {
      all_meet(endpoint);
      endpoint.give_up("rank 1 has found a fault");
      throw std::runtime_error("given up");
    }
    all_meet(endpoint);
    ring_for_ever(endpoint, 10'000);
  });
  EXPECT_EQ(ranks.outcome(1), "given up");
  for (const Rank r : {0, 2}) EXPECT_EQ(ranks.outcome(r), "rank 1 has found a fault");
  EXPECT_LT(ranks.age(), Seconds{8.0});
}

TEST_P(GrpcFaultsTest, ARankThatLeavesEarlyIsNamedByWhoeverNeedsIt) {
  ForkedRanks ranks(3, Seconds{20.0}, GetParam(), [](GrpcEndpoint& endpoint) {
    if (endpoint.rank() != 1) ring_for_ever(endpoint, 10'000);
  });
  EXPECT_EQ(ranks.outcome(1), "done");
  for (const Rank r : {0, 2}) EXPECT_THAT(ranks.outcome(r), HasSubstr("rank 1"));
  EXPECT_LT(ranks.age(), Seconds{8.0});
}

// Joining connects neither of ranks 1 and 2 to the other.
TEST_P(GrpcFaultsTest, ARankThatEndedBeforeItsFirstMessageIsNamedByTheSender) {
  ForkedRanks ranks(3, Seconds{20.0}, GetParam(), [](GrpcEndpoint& endpoint) {
    if (endpoint.rank() != 2) return;
    usleep(500'000);
    std::vector<float> own(3'000'000, 1.0F);
    endpoint.wait(
        endpoint.send(1, {reinterpret_cast<std::byte*>(own.data()), 3'000'000, DataType::f32}));
  });
  EXPECT_EQ(ranks.outcome(1), "done");
  EXPECT_THAT(ranks.outcome(2), HasSubstr("rank 1 has ended"));
  EXPECT_LT(ranks.age(), Seconds{15.0});
}

TEST_P(GrpcFaultsTest, RanksThatWaitForEachOtherSayWhatTheyWaitFor) {
  ForkedRanks ranks(2, Seconds{1.0}, GetParam(), [](GrpcEndpoint& endpoint) {
    float value = 0;
    endpoint.wait(endpoint.recv(1 - endpoint.rank(),
                                {reinterpret_cast<std::byte*>(&value), 1, DataType::f32}));
  });
  EXPECT_THAT(ranks.outcome(0), HasSubstr("waits for 4 bytes from rank"));
  EXPECT_THAT(ranks.outcome(1), HasSubstr("waits for 4 bytes from rank"));
}

TEST_P(GrpcFaultsTest, RanksThatFinishAtDifferentTimesAllFinishWell) {
  ForkedRanks ranks(4, Seconds{20.0}, GetParam(), [](GrpcEndpoint& endpoint) {
    all_meet(endpoint);
    usleep(static_cast<useconds_t>(endpoint.rank()) * 300'000);
  });
  for (const Rank r : {0, 1, 2, 3}) EXPECT_EQ(ranks.outcome(r), "done");
}

}  // namespace
}  // namespace collbench

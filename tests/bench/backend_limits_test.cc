// What back ends refuse before anything is started, and the bounds that they give without
// measuring.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/team_cases.h"

#include "bench/measure/measure_case.h"
#include "bench/measure/team.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr std::int64_t gib = std::int64_t{1} << 30;

TEST(BackendLimitsTest, MoreRanksThanSharedMemoryHoldsAreRefused) {
  for (const char* algorithm : {"ring", "auto"}) {
    EXPECT_NO_THROW(require_possible(team_case("shm", algorithm, 512)));
    EXPECT_THAT([&] { require_possible(team_case("shm", algorithm, 513)); },
                ThrowsMessage<InvalidArgument>(HasSubstr("1 to 512 ranks, not 513")));
  }
}

TEST(BackendLimitsTest, MoreMessagesThanSharedMemoryHoldsAreRefused) {
  Case point = team_case("shm", "ring:segments=100", 4, 1 << 20);
  EXPECT_THAT([&] { require_possible(point); },
              ThrowsMessage<InvalidArgument>(HasSubstr("sends 100 in one round")));
  point.bytes = Bytes{1000};  // 62 or 63 elements of each rank are so many messages
  EXPECT_NO_THROW(require_possible(point));
  point = team_case("shm", "ring:segments=64", 4, 1 << 20);
  EXPECT_NO_THROW(require_possible(point));
  point.inject = "delay:rank=1:every=1:time=1ms";
  EXPECT_THAT([&] { require_possible(point); },
              ThrowsMessage<InvalidArgument>(HasSubstr("sends 65 in one round")));
  point.inject.clear();
  point.checksum = true;
  EXPECT_THAT([&] { require_possible(point); },
              ThrowsMessage<InvalidArgument>(HasSubstr("sends 128 in one round")));
  point.backend = "grpc";
  EXPECT_NO_THROW(require_possible(point));
}

TEST(BackendLimitsTest, AMessageThatAProtocolBufferCannotHoldIsRefused) {
  Case point = team_case("grpc", "one-shot", 2, 3 * gib);
  EXPECT_NO_THROW(require_possible(point));
  point.transport = "tf-recvbuf";
  EXPECT_THAT([&] { require_possible(point); },
              ThrowsMessage<InvalidArgument>(HasSubstr("cannot hold 3 GiB")));
  point.algorithm = "ring";
  EXPECT_NO_THROW(require_possible(point)) << "messages of 1.5 GiB";
}

TEST(BackendLimitsTest, MoreElementsThanAnMpiCallCountsAreRefused) {
  if (find_backend("mpi").require_elements == nullptr) GTEST_SKIP() << find_backend("mpi").absence;
  Case point = team_case("mpi", "mpi", 2, 2 * gib);
  point.type = DataType::u8;
  EXPECT_NO_THROW(require_elements(point)) << "an all-reduce goes in several calls";
  point.collective = CollectiveKind::reduce;
  EXPECT_THAT([&] { require_elements(point); },
              ThrowsMessage<Unavailable>(HasSubstr("2147483648 are too many")));
  point.type = DataType::f32;
  EXPECT_NO_THROW(require_elements(point));
}

/// At 1 GB/s with messages of whatever size.
TransportBound bound_of(const Case& point) {
  RankContext context;
  for (const int n : {2, 4}) context.exchange_rates[point.bytes.count / n] = Bandwidth{1e9};
  const auto bound = find_backend("grpc").measure_bound(world_of(point), context);
  return bound.value_or(TransportBound{});
}

TEST(BackendLimitsTest, TheBoundOfGroupsIsThatOfOneOfThem) {
  Case point = team_case("grpc", "ring", 4, 4'000'000);
  EXPECT_DOUBLE_EQ(bound_of(point).time.count(), 6e-3);
  point.groups = "2x2";
  EXPECT_DOUBLE_EQ(bound_of(point).time.count(), 4e-3);
  point.groups = "4x1";
  EXPECT_EQ(bound_of(point).time, Seconds{0}) << "nothing is sent";
}

TEST(BackendLimitsTest, TheBoundIsThatOfTheTransportWhichIsFaster) {
  Case point = team_case("grpc", "ring", 4, 4'000'000);
  for (const char* transport : {"raw", "tf-recvbuf"}) {
    point.transport = transport;
    EXPECT_THAT(bound_of(point).reason, StartsWith("gRPC: 2 (N-1)/N M bytes each way at 1 GB/s"));
  }
  point.transport = "tcp";
  EXPECT_THAT(bound_of(point).reason, StartsWith("TCP: 2 (N-1)/N M bytes each way at 1 GB/s"));
}

}  // namespace
}  // namespace collbench

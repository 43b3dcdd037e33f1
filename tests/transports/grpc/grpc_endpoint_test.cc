// All-reduces over gRPC are exact: every algorithm shape, type, size and cut.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/grpc/grpc_ranks.h"
#include "tests/transports/small_values.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/random.h"
#include "transports/grpc/exchange_rate.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class GrpcEndpointTest : public ::testing::TestWithParam<MakeGrpcEndpoint> {};

INSTANTIATE_TEST_SUITE_P(, GrpcEndpointTest,
                         ::testing::Values(make_grpc_endpoint, make_tcp_endpoint,
                                           make_tf_recvbuf_endpoint),
                         [](const auto& make) {
                           return make.param == make_grpc_endpoint  ? "Streams"
                                  : make.param == make_tcp_endpoint ? "Tcp"
                                                                    : "RecvBuf";
                         });

Region bytes_region(std::vector<std::byte>& bytes, std::size_t first, std::size_t count) {
  return {bytes.data() + first, static_cast<std::int64_t>(count), DataType::u8};
}

TEST_P(GrpcEndpointTest, EveryAlgorithmIsExact) {
  for (const char* algorithm : {"ring", "direct", "one-shot", "tree", "halving-doubling"}) {
    for (const int ranks : {2, 3, 4}) {
      const Schedule schedule = make_schedule(algorithm, ranks);
      const auto body = [&](std::unique_ptr<GrpcEndpoint> endpoint) {
        const auto communicator = make_schedule_communicator(schedule, std::move(endpoint), "");
        for (const std::int64_t count : {1, 5, 1000, 300'000}) {
          EXPECT_EQ(all_reduce_error(*communicator, DataType::f32, ReduceOp::sum, count, true), "")
              << algorithm << " on " << ranks << " ranks";
        }
      };
      on_grpc_ranks(ranks, body, GetParam());
    }
  }
}

TEST(RecvBufEndpointTest, WhatNoProtocolBufferHoldsIsRefused) {
  const auto body = [](std::unique_ptr<GrpcEndpoint> endpoint) {
    std::byte never_read{};
    const Region large{&never_read, std::int64_t{1} << 31, DataType::u8};
    EXPECT_THAT([&] { endpoint->send(1 - endpoint->rank(), large); },
                ThrowsMessage<InvalidArgument>(HasSubstr("--transport raw")));
  };
  on_grpc_ranks(2, body, make_tf_recvbuf_endpoint);
}

TEST_P(GrpcEndpointTest, EveryTypeAndOperatorIsExact) {
  for (const char* algorithm : {"ring", "direct"}) {
    const auto body = [&](std::unique_ptr<GrpcEndpoint> endpoint) {
      const auto communicator =
          make_schedule_communicator(make_schedule(algorithm, 3), std::move(endpoint), "");
      for (const DataType type : all_data_types()) {
        for (const ReduceOp op : all_reduce_ops()) {
          EXPECT_EQ(all_reduce_error(*communicator, type, op, 4099, false), "");
        }
      }
    };
    on_grpc_ranks(3, body, GetParam());
  }
}

TEST_P(GrpcEndpointTest, SmallPiecesAndWindowsChangeNothing) {
  const auto body = [&](std::unique_ptr<GrpcEndpoint> endpoint) {
    const auto communicator =
        make_schedule_communicator(make_schedule("direct", 3), std::move(endpoint), "");
    for (const std::int64_t count : {20'011, 200'003}) {
      EXPECT_EQ(all_reduce_error(*communicator, DataType::f64, ReduceOp::sum, count, true), "");
    }
  };
  on_grpc_ranks(3, body, GetParam(), [](GrpcOptions& options) {
    options.piece = {10'007};  // no multiple of an element
    options.window = {30'000};
  });
}

TEST_P(GrpcEndpointTest, MessagesOfAnySizeAndAlignmentArriveInOrder) {
  constexpr std::size_t messages = 120;
  std::vector<std::size_t> sizes;
  RandomEngine engine = random_engine(3, "sizes");
  for (std::size_t i = 0; i < messages; ++i)
    sizes.push_back(engine() % (std::size_t{1} << (i % 20)));
  std::size_t total = 0;
  for (const std::size_t size : sizes) total += size;
  const auto body = [&](std::unique_ptr<GrpcEndpoint> endpoint) {
    const Rank other = 1 - endpoint->rank();
    const auto value = [](Rank rank, std::size_t i) { return std::byte(i * 7 + i / 251 + rank); };
    std::vector<std::byte> out(total + 1), in(total + 1, std::byte{0xee});
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = value(endpoint->rank(), i);
    std::vector<Endpoint::Ticket> tickets;
    std::size_t at = 1;
    for (const std::size_t size : sizes) {
      tickets.push_back(endpoint->send(other, bytes_region(out, at, size)));
      tickets.push_back(endpoint->recv(other, bytes_region(in, at, size)));
      at += size;
    }
    std::reverse(tickets.begin(), tickets.end());  // waiting for one never needs another
    for (const Endpoint::Ticket ticket : tickets) endpoint->wait(ticket);
    EXPECT_EQ(in[0], std::byte{0xee});
    for (std::size_t i = 1; i < in.size(); ++i) ASSERT_EQ(in[i], value(other, i)) << i;
  };
  on_grpc_ranks(2, body, GetParam());
}

TEST_P(GrpcEndpointTest, TheExchangeRateIsMeasuredOnEveryRank) {
  on_grpc_ranks(
      3,
      [](std::unique_ptr<GrpcEndpoint> endpoint) {
        EXPECT_GT(measure_exchange_rate(*endpoint, {100'000}, 3).bytes_per_second, 1e5);
        EXPECT_THROW(measure_exchange_rate(*endpoint, {0}, 1), InvalidArgument);
      },
      GetParam());
}

TEST_P(GrpcEndpointTest, WhatWasWaitedForArrivesThoughItsSenderPollsNoMore) {
  constexpr std::size_t messages = 40;
  constexpr std::size_t size = 4096;
  std::promise<void> received;
  std::future<void> all_received = received.get_future();
  const auto body = [&](std::unique_ptr<GrpcEndpoint> endpoint) {
    std::vector<std::byte> bytes(messages * size, std::byte{7});
    std::vector<Endpoint::Ticket> tickets;
    // Rank 1 has then joined, for which rank 0 had to poll as well.
    const Region first = bytes_region(bytes, 0, 1);
    endpoint->wait(endpoint->rank() == 0 ? endpoint->recv(1, first) : endpoint->send(0, first));
    for (std::size_t i = 0; i < messages; ++i) {
      const Region part = bytes_region(bytes, i * size, size);
      tickets.push_back(endpoint->rank() == 0 ? endpoint->send(1, part) : endpoint->recv(0, part));
    }
    for (const Endpoint::Ticket ticket : tickets) endpoint->wait(ticket);
    if (endpoint->rank() == 1) return received.set_value();
    // Not for ever: the other rank may have failed, and then says why.
    all_received.wait_for(std::chrono::seconds{10});
  };
  on_grpc_ranks(2, body, GetParam(), [](GrpcOptions& options) { options.timeout = Seconds{5.0}; });
}

TEST(GrpcStreamsTest, ASendMayBeSplitOverReceivesOfTheSameBytes) {
  on_grpc_ranks(2, [](std::unique_ptr<GrpcEndpoint> endpoint) {
    std::vector<std::byte> bytes(100'000, std::byte{3});
    if (endpoint->rank() == 0) {
      endpoint->wait(endpoint->send(1, bytes_region(bytes, 0, bytes.size())));
    } else {
      std::vector<std::byte> in(bytes.size());
      const auto first = endpoint->recv(0, bytes_region(in, 0, 33'333));
      const auto rest = endpoint->recv(0, bytes_region(in, 33'333, in.size() - 33'333));
      endpoint->wait(rest);
      endpoint->wait(first);
      EXPECT_EQ(in, bytes);
    }
  });
}

// The receiver is slow, and never silent for the timeout; all takes twice that and more.
void send_what_is_taken_slowly(MakeGrpcEndpoint make) {
  constexpr std::size_t parts = 40;
  constexpr std::size_t part_bytes = 4 << 20;
  std::vector<std::byte> sent(parts * part_bytes);  // before the ranks join, for it takes a while
  std::vector<std::byte> taken(part_bytes);
  const auto body = [&](std::unique_ptr<GrpcEndpoint> endpoint) {
    if (endpoint->rank() == 0) {
      return endpoint->wait(endpoint->send(1, bytes_region(sent, 0, sent.size())));
    }
    for (std::size_t i = 0; i < parts; ++i) {
      endpoint->wait(endpoint->recv(0, bytes_region(taken, 0, part_bytes)));
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  };
  on_grpc_ranks(2, body, make, [](GrpcOptions& options) { options.timeout = Seconds{1.0}; });
}

TEST(GrpcStreamsTest, ALongSendIsNotLateAsLongAsItMoves) {
  send_what_is_taken_slowly(make_grpc_endpoint);
}
TEST(GrpcStreamsTest, ALongSendOverTcpIsNotLateAsLongAsItMoves) {
  send_what_is_taken_slowly(make_tcp_endpoint);
}

TEST_P(GrpcEndpointTest, UnreadBytesWaitUntilTheyAreAskedFor) {
  on_grpc_ranks(
      3,
      [](std::unique_ptr<GrpcEndpoint> endpoint) {
        std::vector<std::byte> bytes(4 << 20, std::byte{1});
        if (endpoint->rank() == 2) {
          // The large message of rank 0 comes first and is asked for last.
          std::vector<std::byte> small(64), large(bytes.size());
          endpoint->wait(endpoint->recv(1, bytes_region(small, 0, small.size())));
          endpoint->wait(endpoint->recv(0, bytes_region(large, 0, large.size())));
          EXPECT_EQ(large, bytes);
        } else {
          const std::size_t size = endpoint->rank() == 0 ? bytes.size() : 64;
          endpoint->wait(endpoint->send(2, bytes_region(bytes, 0, size)));
        }
      },
      GetParam(), [](GrpcOptions& options) { options.window = {100'000}; });
}

}  // namespace
}  // namespace collbench

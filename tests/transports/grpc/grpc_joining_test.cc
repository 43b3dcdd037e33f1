// Joining: any order of starting works, the missing are named, strangers are refused.
#include <atomic>
#include <barrier>
#include <chrono>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/grpc/all_meet.h"
#include "tests/transports/grpc/grpc_ranks.h"
#include "tests/transports/small_values.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(GrpcJoiningTest, ALateRankIsWaitedFor) {
  auto first = make_grpc_endpoint(grpc_test_options(0, 2));
  GrpcOptions late = grpc_test_options(1, 2);
  late.listen = make_grpc_endpoint(late)->address();  // free again: its endpoint is gone
  const std::vector<std::string> addresses{first->address(), late.listen};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    auto second = make_grpc_endpoint(late);
    second->connect(addresses);
    all_meet(*second);
  });
  EXPECT_EQ(failure_of([&] {
              first->connect(addresses);
              all_meet(*first);
            }),
            "");
  other.join();
}

TEST(GrpcJoiningTest, MissingRanksAreNamedWhileWaitingAndAtTheEnd) {
  GrpcOptions options = grpc_test_options(0, 3);
  options.timeout = Seconds{5.0};
  std::vector<std::string> told;
  options.on_waiting = [&](const std::string& text) { told.push_back(text); };
  auto endpoint = make_grpc_endpoint(options);
  const std::string failure = failure_of([&] {
    endpoint->connect({endpoint->address(), "127.0.0.1:9", "127.0.0.1:10"});
  });
  EXPECT_THAT(failure,
              AllOf(HasSubstr("rank 1 at 127.0.0.1:9"), HasSubstr("rank 2 at 127.0.0.1:10")));
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told[0], HasSubstr("rank 2 at 127.0.0.1:10"));
}

TEST(GrpcJoiningTest, ARingOpensTwoStreamsPerRankAndJoiningAtMostLogarithmicallyMany) {
  constexpr int n = 12;
  std::atomic<int> joined{0}, after_ring{0};
  std::barrier counted(n);  // before the first opens one for the ring
  on_grpc_ranks(n, [&](std::unique_ptr<GrpcEndpoint> endpoint) {
    joined += endpoint->streams_opened();
    EXPECT_LE(endpoint->streams_opened(), 4);  // the tree's root has the most
    counted.arrive_and_wait();
    GrpcEndpoint& streams = *endpoint;
    const auto communicator =
        make_schedule_communicator(make_schedule("ring", n), std::move(endpoint), "");
    EXPECT_EQ(all_reduce_error(*communicator, DataType::f32, ReduceOp::sum, 1000, true), "");
    after_ring += streams.streams_opened();
    communicator->barrier();
  });
  EXPECT_EQ(joined, 2 * (n - 1));
  EXPECT_LE(after_ring, joined + 2 * n);
  EXPECT_GE(after_ring, 2 * n);
}

TEST(GrpcJoiningTest, AMissingRanksChildrenAreNotTakenForMissing) {
  std::mutex mutex;
  std::vector<std::string> told;
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints;
  std::vector<std::string> addresses;
  for (Rank r = 0; r < 8; ++r) {
    GrpcOptions options = grpc_test_options(r, 8);
    options.timeout = Seconds{10.0};  // children of missing ranks are tried after 2 s
    if (r == 0) options.on_waiting = [&](const std::string& text) { told.push_back(text); };
    endpoints.push_back(make_grpc_endpoint(options));
    addresses.push_back(endpoints.back()->address());
  }
  endpoints[4].reset();  // the parent of 5 and 6
  std::vector<std::thread> threads;
  for (const Rank r : {0, 1, 2, 3, 5, 6, 7}) {
    threads.emplace_back([&, r] {
      const std::string failure = failure_of([&] { endpoints[r]->connect(addresses); });
      const std::scoped_lock lock(mutex);
      EXPECT_THAT(failure, HasSubstr("rank 4 at " + addresses[4])) << r;
      EXPECT_THAT(failure, Not(HasSubstr("rank 5 at"))) << r;
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told.back(), AllOf(HasSubstr("rank 4 at"), Not(HasSubstr("rank 6 at"))));
}

/// Seven ranks, of which rank 6 never comes. Rank 4, which waits for it, comes but says nothing for
/// two seconds, as if it had been stopped; the others wait for less. What each of 0 to 5 says at
/// the end; nothing if rank 4 had time to say for whom it waits, on a machine that does other
/// things.
std::vector<std::string> words_about_a_silent_rank() {
  constexpr int n = 7;
  constexpr Rank silent = 4;
  std::atomic<bool> has_spoken{false};
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints;
  std::vector<std::string> addresses;
  for (Rank r = 0; r < n; ++r) {
    GrpcOptions options = grpc_test_options(r, n);
    options.timeout = Seconds{r == silent ? 12.0 : 1.0};
    if (r == silent) options.on_waiting = [&](const std::string&) { has_spoken = true; };
    endpoints.push_back(make_grpc_endpoint(options));
    addresses.push_back(endpoints.back()->address());
  }
  endpoints[6].reset();
  std::vector<std::string> words(6);
  std::vector<std::thread> threads;
  std::atomic<int> waiting{0};
  std::atomic<bool> too_late{false};
  for (Rank r = 0; r < 6; ++r) {
    threads.emplace_back([&, r] {
      ++waiting;
      while (r == silent && waiting < 6) std::this_thread::yield();
      words[static_cast<std::size_t>(r)] =
          failure_of([&] { endpoints[static_cast<std::size_t>(r)]->connect(addresses); });
      if (r != silent && has_spoken) too_late = true;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return too_late ? std::vector<std::string>() : words;
}

TEST(GrpcJoiningTest, ARankThatHasComeButIsSilentIsNamedAndNotThoseItWaitsFor) {
  std::vector<std::string> words;
  for (int tries = 0; tries < 5 && words.empty(); ++tries) words = words_about_a_silent_rank();
  if (words.empty()) GTEST_SKIP() << "this machine does too much else";
  for (const Rank r : {0, 1, 2, 3, 5}) {
    EXPECT_THAT(words[static_cast<std::size_t>(r)],
                AllOf(HasSubstr("rank 4 at "), Not(HasSubstr("rank 6")),
                      Not(HasSubstr("ranks that others wait for"))))
        << r;
  }
  // Its parent and its child have seen it come.
  EXPECT_THAT(words[0] + words[5], HasSubstr("(it has come, but says nothing more)"));
}

TEST(GrpcJoiningTest, AStrangersStreamIsRefusedAndTheRunGoesOn) {
  auto first = make_grpc_endpoint(grpc_test_options(0, 2));
  auto second = make_grpc_endpoint(grpc_test_options(1, 2));
  GrpcOptions wrong = grpc_test_options(1, 2);
  wrong.job = "guess";
  wrong.timeout = Seconds{4.0};  // what it takes to give up
  auto stranger = make_grpc_endpoint(wrong);
  const std::vector<std::string> addresses{first->address(), second->address()};
  std::string refused, failed[2];
  std::thread zero([&] {
    failed[0] = failure_of([&] {
      first->connect(addresses);
      all_meet(*first);
    });
  });
  std::thread strange([&] {
    refused = failure_of([&] { stranger->connect({first->address(), stranger->address()}); });
  });
  strange.join();
  failed[1] = failure_of([&] {
    second->connect(addresses);
    all_meet(*second);
  });
  zero.join();
  EXPECT_EQ(failed[0], "");
  EXPECT_EQ(failed[1], "");
  EXPECT_THAT(refused, AllOf(HasSubstr("rank 0 at "), HasSubstr("its job differs")));
}

TEST(GrpcJoiningTest, ARunOfAnotherSizeIsRefused) {
  auto first = make_grpc_endpoint(grpc_test_options(0, 2));
  auto other = make_grpc_endpoint(grpc_test_options(1, 3));
  std::string told;
  std::thread zero([&] {
    told = failure_of([&] { first->connect({first->address(), other->address()}); });
  });
  EXPECT_THAT(failure_of([&] {
                other->connect({first->address(), other->address(), first->address()});
              }),
              HasSubstr("was started for "));
  zero.join();
  EXPECT_THAT(told, HasSubstr("was started for "));
}

TEST(GrpcJoiningTest, ATakenPortIsRefusedByName) {
  auto first = make_grpc_endpoint(grpc_test_options(0, 2));
  GrpcOptions second = grpc_test_options(1, 2);
  second.listen = first->address();
  EXPECT_THAT(failure_of([&] { make_grpc_endpoint(second); }),
              HasSubstr("cannot listen on " + first->address()));
}

TEST(GrpcJoiningTest, BadArgumentsAreNamed) {
  EXPECT_THROW(make_grpc_endpoint(grpc_test_options(2, 2)), InvalidArgument);
  GrpcOptions options = grpc_test_options(0, 2);
  options.listen = "localhost";
  EXPECT_THAT(failure_of([&] { make_grpc_endpoint(options); }),
              HasSubstr("'localhost' is not HOST:PORT"));
  auto endpoint = make_grpc_endpoint(grpc_test_options(0, 2));
  EXPECT_THAT(failure_of([&] { endpoint->connect({endpoint->address()}); }),
              HasSubstr("all 2 ranks, not 1"));
}

TEST(GrpcJoiningTest, AnEndpointThatNeverJoinedEndsAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  make_grpc_endpoint(grpc_test_options(0, 4)).reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace collbench

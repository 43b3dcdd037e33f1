// A function in a child process: what it gives comes back, and whatever ends it has a reason.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "simulator/simgrid/child.h"

namespace collbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Bytes8 = std::vector<std::byte>;

std::string why_failed(const std::function<Bytes8(Child&)>& work, Seconds patience = Seconds{60}) {
  try {
    run_in_child(work, {.name = "test", .patience = patience});
  } catch (const TransportError& error) {
    return error.what();
  }
  return "it did not fail";
}

TEST(ChildTest, BringsBackWhatTheFunctionGives) {
  const Bytes8 sent(1 << 20, std::byte{7});
  EXPECT_EQ(run_in_child([&](Child&) { return sent; }, {.name = "test"}), sent);
  EXPECT_EQ(run_in_child([&](Child&) { return Bytes8{}; }, {.name = "test"}), Bytes8{});
}

TEST(ChildTest, LeavesTheParentsMemoryAlone) {
  int value = 1;
  run_in_child(
      [&](Child&) {
        value = 2;
        return Bytes8{};
      },
      {.name = "test"});
  EXPECT_EQ(value, 1);
}

TEST(ChildTest, ThrowsWhatTheFunctionThrew) {
  const auto throws = [](auto error) {
    run_in_child([&](Child&) -> Bytes8 { throw error; }, {.name = "test"});
  };
  EXPECT_THROW(throws(InvalidArgument("wrong")), InvalidArgument);
  EXPECT_THROW(throws(Unavailable("absent")), Unavailable);
  EXPECT_THROW(throws(std::runtime_error("failed")), TransportError);
}

TEST(ChildTest, SaysWhichSignalEndedItAndItsLastWords) {
  EXPECT_THAT(why_failed([](Child&) -> Bytes8 {
                std::fputs("out of order\n", stderr);
                std::abort();
              }),
              AllOf(HasSubstr("test"), HasSubstr("signal 6"), HasSubstr("out of order")));
  EXPECT_THAT(why_failed([](Child&) -> Bytes8 {
                kill(getpid(), SIGKILL);
                pause();
                return {};
              }),
              HasSubstr("signal 9"));
}

TEST(ChildTest, SaysThatItExitedBeforeItHadAResult) {
  EXPECT_THAT(why_failed([](Child&) -> Bytes8 { _exit(3); }), HasSubstr("exited with code 3"));
  EXPECT_THAT(why_failed([](Child&) -> Bytes8 { _exit(0); }), HasSubstr("before it had a result"));
}

TEST(ChildTest, EndsAChildThatStandsStill) {
  EXPECT_THAT(why_failed(
                  [](Child&) -> Bytes8 {
                    pause();
                    return {};
                  },
                  Seconds{1}),
              HasSubstr("stood still for 1 s"));
}

TEST(ChildTest, LetsAChildGoOnThatMakesProgress) {
  EXPECT_NO_THROW(run_in_child(
      [](Child& child) {
        for (int i = 0; i < 30; ++i) {
          child.progress();
          usleep(100'000);
        }
        return Bytes8{};
      },
      {.name = "test", .patience = Seconds{2}}));
}

TEST(ChildTest, GivesUpFromAnywhereWithItsReason) {
  EXPECT_THAT(why_failed([](Child& child) -> Bytes8 {
                child.give_up("no way on");
                return {};
              }),
              HasSubstr("test: no way on"));
}

TEST(ChildTest, RunsFromManyThreadsAtATime) {
  std::vector<int> results(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i, &results] {
      for (int k = 0; k < 5; ++k) {
        const Bytes8 bytes =
            run_in_child([&](Child&) { return Bytes8(static_cast<std::size_t>(1000 * i + k + 1)); },
                         {.name = "test"});
        results[static_cast<std::size_t>(i)] += bytes.size() == std::size_t(1000 * i + k + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, ::testing::Each(5));
}

}  // namespace
}  // namespace collbench

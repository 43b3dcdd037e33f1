#include "core/start_threads.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

/// Counts its runs; the system refuses the thread after `most`.
struct CountedBody {
  std::atomic<int>& runs;
  int& copies;
  int most;

  CountedBody(std::atomic<int>& counted, int& copied, int fitting)
      : runs(counted), copies(copied), most(fitting) {}
  CountedBody(const CountedBody& other) : runs(other.runs), copies(other.copies), most(other.most) {
    if (++copies > most) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    }
  }
  CountedBody(CountedBody&&) noexcept = default;
  void operator()(int number) const { runs += 1 << number; }
};

void join_all(std::vector<std::thread>& threads) {
  for (std::thread& thread : threads) thread.join();
}

TEST(StartThreadsTest, EachHasItsNumber) {
  std::atomic<int> runs{0};
  int copies = 0;
  std::vector<std::thread> threads;
  start_threads(4, CountedBody(runs, copies, 4), threads);
  join_all(threads);
  EXPECT_EQ(runs, 0b1111);
}

TEST(StartThreadsTest, ThoseThatStartedRunOnWhereOneIsRefused) {
  std::atomic<int> runs{0};
  int copies = 0;
  std::vector<std::thread> threads;
  EXPECT_THAT([&] { start_threads(5, CountedBody(runs, copies, 2), threads); },
              testing::ThrowsMessage<TransportError>(
                  testing::HasSubstr("only 2 of 5 threads could be started: ")));
  ASSERT_EQ(threads.size(), 2U);
  join_all(threads);
  EXPECT_EQ(runs, 0b11);
}

}  // namespace
}  // namespace collbench

// How far the clock of a process is off that of another.
#include "cli/clock_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "transports/mpi/profile/profile_clock.h"
#include "transports/mpi/profile/thread_time.h"

namespace collbench {
namespace {

TEST(ClockServer, ItsOwnMachineNeedsNoAnswer) {
  const ClockServer server;
  const ProfiledClock clock = clock_against(server.reference().c_str());
  EXPECT_EQ(clock.error_ns, 0);
  EXPECT_EQ(clock.behind_ns, 0);
}

// As if it were another clock, which it is not: it is not behind by more than it may be off.
TEST(ClockServer, AnswersOtherMachines) {
  const ClockServer server;
  if (server.port() == 0) GTEST_SKIP() << "no network";
  for (int again = 0; again < 2; ++again) {
    const ProfiledClock clock =
        clock_against(fmt::format("another 127.0.0.1:{}", server.port()).c_str());
    ASSERT_GT(clock.error_ns, 0);
    EXPECT_LE(std::abs(clock.behind_ns), clock.error_ns + 1);
  }
  EXPECT_EQ(clock_against("another 127.0.0.1:1 nonsense").error_ns, -1);
  EXPECT_EQ(clock_against(nullptr).error_ns, -1);
}

}  // namespace
}  // namespace collbench

#include "bench/meeting.h"

#include <future>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "bench/line_socket.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string free_address() {
  const LineSocket probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(bind(probe.descriptor(), reinterpret_cast<sockaddr*>(&address), length), 0);
  getsockname(probe.descriptor(), reinterpret_cast<sockaddr*>(&address), &length);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

using Result = std::future<std::vector<std::string>>;

Result attend(const Meeting& meeting, int port) {
  return std::async(std::launch::async, [=] { return meet(meeting, port); });
}

std::string failure_of(Result& result) {
  try {
    result.get();
  } catch (const TransportError& error) {
    return error.what();
  }
  return "";
}

TEST(MeetingTest, EveryRankLearnsAllAddressesInWhateverOrderTheyCome) {
  const std::string address = free_address();
  Result two = attend({address, 2, 3, "", Seconds{30}, {}}, 12);
  Result one = attend({address, 1, 3, "", Seconds{30}, {}}, 11);
  Result zero = attend({address, 0, 3, "", Seconds{30}, {}}, 10);
  const auto all = ElementsAre("127.0.0.1:10", "127.0.0.1:11", "127.0.0.1:12");
  EXPECT_THAT(zero.get(), all);
  EXPECT_THAT(one.get(), all);
  EXPECT_THAT(two.get(), all);
}

TEST(MeetingTest, StrangersAndOtherSizesAreNamedOnEveryRank) {
  struct Case {
    Meeting guest;
    const char* words;
  };
  for (const Case& wrong :
       {Case{{"", 2, 3, "other", Seconds{30}, {}}, "rank 2 at 127.0.0.1 belongs to another run"},
        Case{{"", 2, 4, "", Seconds{30}, {}}, "rank 2 was started for 4 ranks, rank 0 for 3"},
        Case{{"", 1, 3, "", Seconds{30}, {}}, "rank 1 was started twice"}}) {
    const std::string address = free_address();
    Result zero = attend({address, 0, 3, "", Seconds{30}, {}}, 10);
    Result one = attend({address, 1, 3, "", Seconds{30}, {}}, 11);
    Meeting guest = wrong.guest;
    guest.address = address;
    Result other = attend(guest, 12);
    EXPECT_THAT(failure_of(zero), HasSubstr(wrong.words));
    // A guest may also find that rank 0 has already left.
    for (Result* rank : {&one, &other}) EXPECT_NE(failure_of(*rank), "");
  }
}

TEST(MeetingTest, MissingRanksAreNamedAfterTheTimeout) {
  Result zero = attend({free_address(), 0, 3, "", Seconds{0.5}, {}}, 10);
  EXPECT_THAT(failure_of(zero), HasSubstr("for ranks 1, 2 at the meeting"));
  Result one = attend({free_address(), 1, 3, "", Seconds{0.5}, {}}, 10);
  EXPECT_THAT(failure_of(one), HasSubstr("for rank 0 at the meeting"));
}

}  // namespace
}  // namespace collbench

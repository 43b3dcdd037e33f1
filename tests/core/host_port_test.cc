#include "core/host_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(HostPortTest, NamesAndAddressesOfBothKindsAreReadAndWrittenAlike) {
  for (const auto& [text, host, port] :
       {std::tuple{"node0:7101", "node0", 7101}, std::tuple{"10.0.0.1:1", "10.0.0.1", 1},
        std::tuple{"[::1]:65535", "::1", 65'535},
        std::tuple{"[fe80::1%eth0]:7101", "fe80::1%eth0", 7101}}) {
    const HostPort address = parse_host_port("--hosts", text);
    EXPECT_EQ(address.host, host);
    EXPECT_EQ(address.port, port);
    EXPECT_EQ(to_string(address), text);
  }
  EXPECT_EQ(parse_host_port("--hosts", "a:0", 0).port, 0);
}

TEST(HostPortTest, RefusesWhatIsNoneAndSaysWhatWouldBeRight) {
  for (const auto& bad :
       {std::pair{"node0", "--hosts: 'node0' is not HOST:PORT"}, std::pair{":7101", "is not HOST"},
        std::pair{"a:", "is not HOST"}, std::pair{"a:7x", "is not HOST"},
        std::pair{"::1:7101", "an IPv6 address stands in brackets"},
        std::pair{"[]:1", "is not HOST"}, std::pair{"[::1:1", "is not HOST"},
        std::pair{"a b:1", "is not HOST"}, std::pair{"a:0", "must be at least 1 (got 0)"},
        std::pair{"a:65536", "must be at most 65535 (got 65536)"}}) {
    EXPECT_THAT([&] { parse_host_port("--hosts", bad.first); },
                ThrowsMessage<InvalidArgument>(HasSubstr(bad.second)))
        << bad.first;
  }
}

TEST(HostPortTest, TheMachineItselfIsKnownByItsSpelling) {
  for (const char* here : {"127.0.0.1", "127.0.0.2", "::1", "localhost"}) {
    EXPECT_TRUE(is_loopback(here)) << here;
  }
  for (const char* other : {"10.0.0.1", "::2", "node127.0", "127.example.org"})
    EXPECT_FALSE(is_loopback(other));
}

}  // namespace
}  // namespace collbench

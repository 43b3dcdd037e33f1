// HOST:PORT as users, launchers and TF_CONFIG write it: "node0:7101", "10.0.0.1:7101",
// "[::1]:7101", "[fe80::1%eth0]:7101".
//
// The port is what follows the last colon; a host that has colons itself is an IPv6 address and
// stands in brackets, as in URLs (RFC 3986, section 3.2.2), so that both cannot be mistaken.
#pragma once

#include <string>
#include <string_view>

namespace collbench {

struct HostPort {
  std::string host;  // without brackets
  int port = 0;

  bool operator==(const HostPort&) const = default;
};

/// Throws InvalidArgument, "WHAT: 'x' is not HOST:PORT", for anything else and for ports below
/// `least_port` or above 65535.
HostPort parse_host_port(std::string_view what, std::string_view text, int least_port = 1);

/// "node0:7101", with brackets around an IPv6 address.
std::string to_string(const HostPort& address);

/// Whether this is the machine itself by its very spelling: 127.x.y.z, ::1, localhost.
bool is_loopback(std::string_view host);

}  // namespace collbench

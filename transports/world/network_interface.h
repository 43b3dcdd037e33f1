// The addresses of this machine's network interfaces.
#pragma once

#include <string>

namespace collbench {

/// An address of the interface `name` ("eth0"), as text: IPv6 if `ipv6`, else IPv4; the other kind
/// if it has none of that one. A link-local address comes with its scope, "fe80::1%eth0". Throws
/// InvalidArgument, naming those that there are, if no interface of that name has an address.
std::string address_of_interface(const std::string& name, bool ipv6);

}  // namespace collbench

// Listening for TCP connections at the addresses of a host, and how addresses are written.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <netdb.h>
#include <sys/socket.h>

#include "core/descriptor.h"
#include "core/host_port.h"

namespace collbench {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// The addresses of a host for getaddrinfo's `flags`, those of this machine for ""; null, and
/// `failure` said, if the host is not known.
Addresses resolve(const HostPort& where, int flags, std::string& failure);

/// Listens at every address that the host has, each once, on one port; port 0 lets the system
/// choose it. "" as the host is every address of this machine, of both kinds. The listeners do not
/// wait in accept(). None, and `failure` said, if there is no such address, or a given port of one
/// is taken.
std::vector<Descriptor> listen_at(const HostPort& where, std::string& failure);

int port_of(const Descriptor& listener);

/// As text, without a name looked up: "::1" and its port, an IPv4 address also where it is mapped
/// into an IPv6 one.
HostPort address_in_text(const sockaddr* address, socklen_t length);

/// An address of the interface `name` ("eth0"), as text: IPv6 if `ipv6`, else IPv4; the other kind
/// if it has none of that one. A link-local address comes with its scope, "fe80::1%eth0". Throws
/// InvalidArgument, naming those that there are, if no interface of that name has an address.
std::string address_of_interface(const std::string& name, bool ipv6);

}  // namespace collbench

#include "transports/listening.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

// On failure errno holds the reason.
Descriptor listen_on(const addrinfo& where, int port) {
  Descriptor listener(socket(where.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.number() < 0) return listener;
  const int on = 1;
  const int off = 0;
  setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_storage address{};
  std::memcpy(&address, where.ai_addr, where.ai_addrlen);
  if (where.ai_family == AF_INET6) {
    setsockopt(listener.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = htons(static_cast<std::uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = htons(static_cast<std::uint16_t>(port));
  }
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  const bool listens = bind(listener.number(), generic, where.ai_addrlen) == 0 &&
                       listen(listener.number(), SOMAXCONN) == 0;
  return listens ? std::move(listener) : Descriptor();
}

}  // namespace

Addresses resolve(const HostPort& where, int flags, std::string& failure) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const char* host = where.host.empty() ? nullptr : where.host.c_str();
  const int error = getaddrinfo(host, std::to_string(where.port).c_str(), &hints, &found);
  if (error != 0) failure = "cannot find '" + where.host + "': " + gai_strerror(error);
  return {error == 0 ? found : nullptr, freeaddrinfo};
}

std::vector<Descriptor> listen_at(const HostPort& where, std::string& failure) {
  const Addresses all = resolve(where, AI_PASSIVE, failure);
  std::vector<Descriptor> listeners;
  std::set<std::string> seen;  // the hosts file may list an address twice
  int port = where.port;
  // IPv6 first: unbound, it takes callers of both kinds, and is enough.
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
      if (one->ai_family != family || (where.host.empty() && !listeners.empty())) continue;
      if (!seen.insert(address_in_text(one->ai_addr, one->ai_addrlen).host).second) continue;
      Descriptor listener = listen_on(*one, port);
      if (listener.number() >= 0) {
        port = port_of(listener);
        listeners.push_back(std::move(listener));
        continue;
      }
      failure = std::strerror(errno);
      if (errno == EADDRINUSE && where.port != 0) return {};
    }
  }
  return listeners;
}

int port_of(const Descriptor& listener) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  auto* const generic = reinterpret_cast<sockaddr*>(&own);
  getsockname(listener.number(), generic, &length);
  return address_in_text(generic, length).port;
}

HostPort address_in_text(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  getnameinfo(address, length, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  const std::string text = host;
  const std::string mapped = "::ffff:";
  return {text.starts_with(mapped) ? text.substr(mapped.size()) : text, std::atoi(port)};
}

std::string address_of_interface(const std::string& name, bool ipv6) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    throw Unavailable(fmt::format("no list of network interfaces: {}", std::strerror(errno)));
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::vector<std::string> names;
  std::string any;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    if (std::find(names.begin(), names.end(), entry->ifa_name) == names.end()) {
      names.emplace_back(entry->ifa_name);
    }
    if (entry->ifa_name != name) continue;
    const socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    const std::string text = address_in_text(entry->ifa_addr, length).host;
    if ((family == AF_INET6) == ipv6) return text;
    if (any.empty()) any = text;
  }
  require(!any.empty(), fmt::format("no network interface '{}' has an address.{} There are {}",
                                    name, did_you_mean(name, names), fmt::join(names, ", ")));
  return any;
}

}  // namespace collbench

#include "transports/world/network_interface.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

std::string text_of(const sockaddr* address) {
  char host[NI_MAXHOST] = {};
  const socklen_t length =
      address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  const bool read =
      getnameinfo(address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0;
  return read ? host : "";
}

}  // namespace

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
    const std::string text = text_of(entry->ifa_addr);
    if ((family == AF_INET6) == ipv6) return text;
    if (any.empty()) any = text;
  }
  require(!any.empty(), fmt::format("no network interface '{}' has an address.{} There are {}",
                                    name, did_you_mean(name, names), fmt::join(names, ", ")));
  return any;
}

}  // namespace collbench

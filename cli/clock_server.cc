#include "cli/clock_server.h"

#include <cstdint>
#include <memory>

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "transports/listening.h"
#include "transports/mpi/profile/profile_clock.h"
#include "transports/mpi/profile/thread_time.h"

namespace collbench {
namespace {

/// IPv4 addresses of this machine that others may reach.
std::vector<std::string> own_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::vector<std::string> addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const bool is_up = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0;
    if (!is_up || entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    addresses.push_back(address_in_text(entry->ifa_addr, sizeof(sockaddr_in)).host);
  }
  return addresses;
}

void answer(const Descriptor& caller) {
  constexpr timeval patience{0, 500'000};
  constexpr int most_questions = 64;  // no caller keeps the others waiting
  const int on = 1;
  setsockopt(caller.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(caller.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::int64_t asked = 0;
  for (int i = 0; i < most_questions; ++i) {
    if (recv(caller.number(), &asked, sizeof asked, MSG_WAITALL) != sizeof asked) break;
    const std::int64_t now = now_ns();
    if (send(caller.number(), &now, sizeof now, MSG_NOSIGNAL) != sizeof now) break;
  }
}

}  // namespace

ClockServer::ClockServer() : reference_(clock_identity()) {
  std::string failure;
  listeners_ = listen_at({"", 0}, failure);
  if (listeners_.empty()) return;
  port_ = port_of(listeners_.front());
  for (const std::string& address : own_addresses()) {
    reference_ += fmt::format(" {}:{}", address, port_);
  }
  thread_ = std::thread([this] { serve(); });
}

ClockServer::~ClockServer() {
  is_ended_ = true;
  if (thread_.joinable()) thread_.join();
}

void ClockServer::serve() const {
  std::vector<pollfd> places;
  for (const Descriptor& one : listeners_) places.push_back({one.number(), POLLIN, 0});
  constexpr int look_ms = 50;  // at whether it is to end
  while (!is_ended_) {
    if (poll(places.data(), places.size(), look_ms) <= 0) continue;
    for (const pollfd& place : places) {
      const Descriptor caller(accept4(place.fd, nullptr, nullptr, SOCK_CLOEXEC));
      if (caller.number() >= 0) answer(caller);
    }
  }
}

}  // namespace collbench

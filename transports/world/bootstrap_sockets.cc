#include "transports/world/bootstrap_sockets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/error.h"
#include "core/host_port.h"
#include "core/keyed_digest.h"
#include "transports/listening.h"
#include "transports/world/bootstrap_messages.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds time_to_speak{15};
constexpr double longest_pause_ms = 1000;

HostPort split(const std::string& address) {
  if (address.starts_with(":")) return {"", parse_host_port("the meeting", "x" + address, 0).port};
  return parse_host_port("the meeting", address, 0);
}

}  // namespace

std::chrono::milliseconds BackOff::next() {
  state_ = state_ * 1'664'525U + 1'013'904'223U;
  const double scatter = 0.75 + 0.5 * (state_ >> 16) / 65'536.0;
  const std::chrono::milliseconds pause(static_cast<int>(pause_ms_ * scatter));
  pause_ms_ = std::min(pause_ms_ * 1.5, longest_pause_ms);
  return pause;
}

LineSocket connect_again(const std::string& address, BackOff pauses,
                         const std::function<void(const std::string& why)>& check) {
  const HostPort there = split(address);
  for (;;) {
    std::string failure;
    const Addresses where = resolve(there, 0, failure);
    for (const addrinfo* one = where.get(); one != nullptr; one = one->ai_next) {
      LineSocket socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      // Bounds connect() too, which a host that swallows packets would hold for minutes.
      const timeval patience{2, 0};
      setsockopt(socket.descriptor(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      if (connect(socket.descriptor(), one->ai_addr, one->ai_addrlen) == 0) return socket;
      failure = std::strerror(errno);
    }
    check(failure);
    std::this_thread::sleep_for(pauses.next());
  }
}

void allow_descriptors(std::size_t count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count) return;
  limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

Reception::Reception(const std::string& address, const std::string& identity, std::size_t most)
    : most_(most) {
  std::string failure;
  listeners_ = listen_at(split(address), failure);
  if (!listeners_.empty()) return;
  throw TransportError(
      fmt::format("{} cannot listen at the meeting {}: {}", identity, address, failure));
}

void Reception::accept_all(const Descriptor& listener) {
  for (;;) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    auto* const generic = reinterpret_cast<sockaddr*>(&from);
    LineSocket socket(accept4(listener.number(), generic, &length, SOCK_CLOEXEC));
    if (!socket.is_open()) return;
    Caller caller{std::move(socket), random_digits(), address_in_text(generic, length).host,
                  Clock::now() + time_to_speak};
    caller.socket.send(greeting_line(caller.number));
    callers_.push_back(std::move(caller));
    if (callers_.size() > most_) callers_.pop_front();
  }
}

void Reception::serve(std::chrono::milliseconds patience,
                      const std::function<void(Caller&&, const std::string&)>& said) {
  std::vector<pollfd> descriptors;
  for (const Caller& caller : callers_) {
    descriptors.push_back({caller.socket.descriptor(), POLLIN, 0});
  }
  for (const Descriptor& listener : listeners_) {
    descriptors.push_back({listener.number(), POLLIN, 0});
  }
  if (poll(descriptors.data(), descriptors.size(), static_cast<int>(patience.count())) <= 0) {
    const auto now = Clock::now();
    callers_.remove_if([now](const Caller& caller) { return now >= caller.until; });
    return;
  }
  auto polled = descriptors.begin();
  for (auto caller = callers_.begin(); caller != callers_.end();) {
    const auto here = caller++;
    if (polled++->revents == 0) continue;
    const bool more = here->socket.receive();
    const std::optional<std::string> line = here->socket.take_line();
    if (line && line->size() <= longest_hello) said(std::move(*here), *line);
    if (!more || line || here->socket.received().size() > longest_hello) callers_.erase(here);
  }
  for (const Descriptor& listener : listeners_) {
    if (polled++->revents != 0) accept_all(listener);
  }
}

}  // namespace collbench

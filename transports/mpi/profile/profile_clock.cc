#include "transports/mpi/profile/profile_clock.h"

#include <cstdlib>
#include <sstream>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "transports/mpi/profile/thread_time.h"

namespace collbench {
namespace {

constexpr int clock_rounds = 20;
constexpr timeval patience{0, 500'000};  // for each step

Descriptor connected_to(const std::string& address) {
  const std::size_t colon = address.find(':');
  sockaddr_in place{};
  place.sin_family = AF_INET;
  if (colon == address.npos ||
      inet_pton(AF_INET, address.substr(0, colon).c_str(), &place.sin_addr) != 1) {
    return {};
  }
  place.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
  Descriptor made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(made.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(made.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  setsockopt(made.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&place);
  return connect(made.number(), generic, sizeof place) == 0 ? std::move(made) : Descriptor();
}

}  // namespace

std::string clock_identity() {
  std::string text(64, '\0');
  const Descriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (file.number() < 0 || read(file.number(), text.data(), text.size() - 1) <= 0) {
    gethostname(text.data(), text.size() - 1);
  }
  return text.substr(0, text.find_first_of(std::string("\n\0", 2)));
}

ProfiledClock clock_against(const char* reference) {
  ProfiledClock clock{now_ns(), 0, -1};
  std::istringstream words(reference == nullptr ? "" : reference);
  std::string word;
  if (words >> word && word == clock_identity()) clock.error_ns = 0;
  while (clock.error_ns < 0 && words >> word) {
    const Descriptor peer = connected_to(word);
    std::int64_t there = 0;
    for (int round = 0; round < clock_rounds; ++round) {
      const std::int64_t asked = now_ns();
      if (send(peer.number(), &there, sizeof there, MSG_NOSIGNAL) != sizeof there ||
          recv(peer.number(), &there, sizeof there, MSG_WAITALL) != sizeof there) {
        break;
      }
      const std::int64_t answered = now_ns();
      const std::int64_t half = (answered - asked) / 2;
      if (clock.error_ns < 0 || half < clock.error_ns) {
        clock = {answered, there - (asked + half), half};
      }
    }
  }
  return clock;
}

}  // namespace collbench

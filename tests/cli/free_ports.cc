#include "tests/cli/free_ports.h"

#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace collbench {
namespace {

constexpr int lowest = 10'000;

/// The first port that the system hands out by itself.
int highest() {
  int first = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
  return first > lowest + 1000 ? first : 32'768;
}

bool is_free(int port) {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(probe);
  return bound;
}

/// A socket that no other process can have at the same time; -1 if one has it.
int hold(int port) {
  const int name = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A leading zero puts the name into no folder; Python's tests write it the same way.
  const std::string text = "collbench-test-port-" + std::to_string(port);
  std::memcpy(address.sun_path + 1, text.data(), text.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (bind(name, reinterpret_cast<sockaddr*>(&address), size) == 0 && is_free(port)) return name;
  close(name);
  return -1;
}

}  // namespace

std::vector<int> free_ports(int count) {
  std::random_device device;
  std::uniform_int_distribution<int> any(lowest, highest() - count - 1);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    std::vector<int> ports(static_cast<std::size_t>(count));
    std::iota(ports.begin(), ports.end(), any(device));
    std::vector<int> held;
    for (const int port : ports) {
      const int name = hold(port);
      if (name < 0) break;
      held.push_back(name);
    }
    if (held.size() == ports.size()) return ports;  // held until this process ends
    for (const int name : held) close(name);
  }
  throw std::runtime_error("there are no " + std::to_string(count) + " free ports on 127.0.0.1");
}

std::vector<std::string> free_addresses(int count) {
  std::vector<std::string> addresses;
  for (const int port : free_ports(count)) {
    addresses.push_back("127.0.0.1:" + std::to_string(port));
  }
  return addresses;
}

}  // namespace collbench

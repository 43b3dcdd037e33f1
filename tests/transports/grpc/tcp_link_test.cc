#include "transports/grpc/tcp_link.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/host_port.h"
#include "transports/grpc/connection_guard.h"
#include "transports/listening.h"

namespace collbench {
namespace {

using namespace std::chrono_literals;

constexpr const char* token = "the token of this run";

/// Passes on what is said to the port and back, each time after 100 ms, as a long network would.
class LongWay {
 public:
  explicit LongWay(int port) : port_(port) {
    std::string failure;
    listeners_ = listen_at(parse_host_port("test", "127.0.0.1:0", 0), failure);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~LongWay() {
    shutdown(listeners_.front().number(), SHUT_RDWR);
    ended_ = true;
    thread_.join();
    for (std::thread& way : ways_) way.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_of(listeners_.front())); }

 private:
  void accept_all() {
    while (!ended_) {
      pollfd waiting{listeners_.front().number(), POLLIN, 0};
      if (poll(&waiting, 1, 50) <= 0) continue;
      const int caller = accept4(listeners_.front().number(), nullptr, nullptr, SOCK_CLOEXEC);
      if (caller >= 0) ways_.emplace_back([this, caller] { pass_on(Descriptor(caller)); });
    }
  }

  void pass_on(const Descriptor& caller) const {
    std::string failure;
    const Addresses there =
        resolve(parse_host_port("test", "127.0.0.1:" + std::to_string(port_)), 0, failure);
    const Descriptor called(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(called.number(), there->ai_addr, there->ai_addrlen) != 0) return;
    for (;;) {
      pollfd ends[2] = {{caller.number(), POLLIN, 0}, {called.number(), POLLIN, 0}};
      if (poll(ends, 2, 50) <= 0) {
        if (ended_) return;
        continue;
      }
      const int from = ends[0].revents != 0 ? 0 : 1;
      char bytes[4096];
      const ssize_t n = recv(ends[from].fd, bytes, sizeof bytes, 0);
      if (n <= 0) return;
      std::this_thread::sleep_for(100ms);
      send(ends[1 - from].fd, bytes, static_cast<std::size_t>(n), MSG_NOSIGNAL);
    }
  }

  int port_;
  std::vector<Descriptor> listeners_;
  std::atomic<bool> ended_{false};
  std::vector<std::thread> ways_;  // of the accepting thread, until it has ended
  std::thread thread_;
};

TEST(TcpLinkTest, ReachesAPeerOverALongNetwork) {
  ConnectionGuard guard("127.0.0.1:0", {1, 2, token, ""}, {.unproved = 16});
  guard.open([](int, int connection) { close(connection); });
  guard.take_elements();
  const LongWay way(guard.port());
  TcpLink link;
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!link.is_open() && std::chrono::steady_clock::now() < end) {
    link.call(way.address(), {0, 2, token, ""}, 1);
    std::this_thread::sleep_for(10ms);
  }
  ASSERT_TRUE(link.is_open());
  EXPECT_EQ(guard.take_elements().size(), 1U);
}

}  // namespace
}  // namespace collbench

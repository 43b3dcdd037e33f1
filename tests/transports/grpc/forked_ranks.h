// Runs one function per rank in processes of their own, so that they can be killed and stopped.
//
// The parent never touches gRPC: it forks first, then hands the children each other's addresses.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/transports/grpc/grpc_ranks.h"

namespace collbench {

/// Starts and joins the ranks; ends all of them when it is destroyed.
class ForkedRanks {
 public:
  ForkedRanks(int ranks, Seconds timeout, MakeGrpcEndpoint make,
              const std::function<void(GrpcEndpoint&)>& body)
      : make_(make) {
    for (Rank r = 0; r < ranks; ++r) start(r, ranks, timeout, body);
    std::string addresses;
    for (Child& child : children_) addresses += read_line(child) + "\n";
    for (const Child& child : children_) write_all(child.to, addresses);
    for (Child& child : children_) read_line(child);  // "joined"
    start_ = std::chrono::steady_clock::now();
  }
  ~ForkedRanks() {
    for (const Child& child : children_) {
      kill(child.pid, SIGKILL);
      waitpid(child.pid, nullptr, 0);
      close(child.to);
      close(child.from);
    }
  }
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  void signal(Rank rank, int number) {
    kill(children_[static_cast<std::size_t>(rank)].pid, number);
  }
  /// "done", what the rank threw, or that it said nothing.
  std::string outcome(Rank rank) { return read_line(children_[static_cast<std::size_t>(rank)]); }
  /// Time since all ranks had joined.
  Seconds age() const { return std::chrono::steady_clock::now() - start_; }

 private:
  struct Child {
    pid_t pid = -1;
    int to = -1;
    int from = -1;
    std::string read;
  };

  void start(Rank rank, int ranks, Seconds timeout,
             const std::function<void(GrpcEndpoint&)>& body) {
    int down[2] = {-1, -1}, up[2] = {-1, -1};
    if (pipe(down) != 0 || pipe(up) != 0) throw std::runtime_error("no pipes");
    const pid_t pid = fork();
    if (pid == 0) {
      close(down[1]);
      close(up[0]);
      write_all(up[1], run(rank, ranks, timeout, body, down[0], up[1]) + "\n");
      _exit(0);
    }
    close(down[0]);
    close(up[1]);
    children_.push_back({pid, down[1], up[0], ""});
  }

  std::string run(Rank rank, int ranks, Seconds timeout,
                  const std::function<void(GrpcEndpoint&)>& body, int from, int to) const {
    try {
      GrpcOptions options;
      options.rank = rank;
      options.ranks = ranks;
      options.job = "forked";
      options.timeout = timeout;
      const auto endpoint = make_(options);
      write_all(to, endpoint->address() + "\n");
      Child parent{-1, -1, from, ""};
      std::vector<std::string> addresses;
      for (Rank r = 0; r < ranks; ++r) addresses.push_back(read_line(parent));
      endpoint->connect(addresses);
      write_all(to, "joined\n");
      body(*endpoint);
      return "done";
    } catch (const std::exception& error) {
      return error.what();
    }
  }

  static void write_all(int file, const std::string& text) {
    if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(3);
  }

  static std::string read_line(Child& child) {
    constexpr int patience_ms = 30'000;
    for (;;) {
      const std::size_t end = child.read.find('\n');
      if (end != std::string::npos) {
        std::string line = child.read.substr(0, end);
        child.read.erase(0, end + 1);
        return line;
      }
      pollfd wait{child.from, POLLIN, 0};
      if (poll(&wait, 1, patience_ms) <= 0) return "(said nothing in time)";
      char buffer[4096];
      const ssize_t n = read(child.from, buffer, sizeof(buffer));
      if (n <= 0) return "(ended without a word)";
      child.read.append(buffer, static_cast<std::size_t>(n));
    }
  }

  const MakeGrpcEndpoint make_;
  std::vector<Child> children_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace collbench

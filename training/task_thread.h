// Runs tasks one after the other on a thread of its own, started when first needed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace collbench {

/// Thread safety: start() and wait() may be called from any thread.
class TaskThread {
 public:
  TaskThread() = default;
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;
  /// Finishes the tasks already started, then ends the thread.
  ~TaskThread();

  /// Queues `task`; tasks run in the order queued.
  std::uint64_t start(std::function<void()> task);
  /// Blocks until the task is done; rethrows what it threw. Requires a ticket not yet waited for.
  void wait(std::uint64_t ticket);
  bool running() const { return thread_.joinable(); }

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::map<std::uint64_t, std::exception_ptr> finished_;  // null: it went well
  std::uint64_t started_ = 0;
  std::uint64_t ended_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace collbench

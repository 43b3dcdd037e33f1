// Runs tasks one after the other on a thread of its own, started when first needed.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace collbench {

/// Thread safety: start() may be called from any thread.
class TaskThread {
 public:
  TaskThread() = default;
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;
  /// Finishes the tasks already started, then ends the thread.
  ~TaskThread();

  /// Queues `task`; tasks run in the order queued. The result waits for it, and throws what it
  /// threw.
  std::future<void> start(std::function<void()> task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> queue_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace collbench

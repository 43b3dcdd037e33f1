#include "training/task_thread.h"

#include <utility>

namespace collbench {

TaskThread::~TaskThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::future<void> TaskThread::start(std::function<void()> task) {
  std::packaged_task<void()> queued(std::move(task));
  std::future<void> done = queued.get_future();
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(queued));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
  return done;
}

void TaskThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::packaged_task<void()> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace collbench

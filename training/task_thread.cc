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

std::uint64_t TaskThread::start(std::function<void()> task) {
  std::uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
    ticket = ++started_;
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
  return ticket;
}

void TaskThread::wait(std::uint64_t ticket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_.contains(ticket); });
  const std::exception_ptr failure = finished_.at(ticket);
  finished_.erase(ticket);
  lock.unlock();
  if (failure) std::rethrow_exception(failure);
}

void TaskThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      task();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    finished_[++ended_] = failure;
    changed_.notify_all();
  }
}

}  // namespace collbench

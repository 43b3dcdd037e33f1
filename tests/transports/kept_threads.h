// Threads that wait for the next call: starting one and joining it costs a hundred times what
// waking it does, and tests of all algorithms would start tens of thousands.
#pragma once

#include <functional>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

namespace collbench {

/// Used by one thread at a time; a process that was forked has none of them.
class KeptThreads {
 public:
  KeptThreads() = default;
  KeptThreads(const KeptThreads&) = delete;
  KeptThreads& operator=(const KeptThreads&) = delete;
  ~KeptThreads() {
    work_ = nullptr;
    for (auto& kept : all_) kept->wake.release();
  }

  /// Calls body(0) to body(count - 1), which throw nothing, all at the same time on threads of
  /// their own; returns when all have.
  void run(int count, const std::function<void(int)>& body) {
    while (static_cast<int>(all_.size()) < count) start();
    work_ = body;
    for (int i = 0; i < count; ++i) all_[static_cast<std::size_t>(i)]->wake.release();
    for (int i = 0; i < count; ++i) ended_.acquire();
  }

 private:
  struct Kept {
    std::binary_semaphore wake{0};
    std::jthread thread;
  };

  void start() {
    const int number = static_cast<int>(all_.size());
    Kept& kept = *all_.emplace_back(std::make_unique<Kept>());
    kept.thread = std::jthread([this, number, &kept] {
      for (;;) {
        kept.wake.acquire();
        if (!work_) return;
        work_(number);
        ended_.release();
      }
    });
  }

  std::function<void(int)> work_;  // of the call, or empty: the end
  std::counting_semaphore<> ended_{0};
  std::vector<std::unique_ptr<Kept>> all_;
};

/// Those of a test's process.
inline KeptThreads& kept_threads() {
  static KeptThreads threads;
  return threads;
}

}  // namespace collbench

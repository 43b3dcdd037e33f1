// Sums the gradients of one replica with those of the others, bucket by bucket, while the backward
// pass goes on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "algorithms/collective.h"
#include "core/units.h"
#include "training/bucket_plan.h"
#include "training/step.h"
#include "transports/communicator.h"

namespace collbench {

struct WireRule {
  DataType type = DataType::f32;  // f16 or bf16 narrows; another one leaves elements as they are
  double scale_before = 1;        // what gradients are multiplied by before the sum
  bool shares = false;            // a rank gets its share of the sum alone: a reduce-scatter
};

/// Runs tasks one after the other on a thread of its own, started when first needed.
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

/// Runs all calls of a replica's communicator on one thread beside the replica's own, in the order
/// started. Thread safety: one thread. Gradients of a bucket that was started belong to the reducer
/// until wait().
class BucketReducer final : public GradientSum {
 public:
  BucketReducer(Communicator& communicator, Region gradients, std::vector<Bucket> buckets,
                const WireRule& rule);

  const std::vector<Bucket>& buckets() const { return buckets_; }
  void start_up_to(std::int64_t end) override;
  /// Throws as Communicator does.
  Spent wait() override;
  Bytes buffer() const { return {std::ssize(wire_)}; }
  /// Called after the sum of each bucket, on the thread that communicates.
  void after_each(std::function<void(const Bucket&)> summed) { summed_ = std::move(summed); }
  /// Runs another collective behind what was started; wait() waits for it too, and counts it.
  std::shared_future<void> start(std::function<void()> task);
  /// Replaces the buckets. Requires that none is started.
  void set_buckets(std::vector<Bucket> buckets);
  /// The least time of several all-reduces of the first `count` gradients, which are lost.
  Seconds cost_of(std::int64_t count);
  /// Runs another collective where the communicator is used, behind what was started.
  void run(const std::function<void()>& task) { tasks_.start(task).get(); }

 private:
  bool narrows() const { return size_of(rule_.type) < size_of(gradients_.type); }
  void reduce(const Bucket& bucket);
  /// Sums over the ranks, in place; returns the part that this rank now has the sum of.
  Elements sum(Region region);

  Communicator& communicator_;
  Region gradients_;
  std::vector<Bucket> buckets_;
  WireRule rule_;
  std::vector<std::byte> wire_;  // of the largest bucket; empty where nothing is narrowed
  std::function<void(const Bucket&)> summed_;
  std::size_t next_ = 0;  // bucket that is not started
  std::vector<std::shared_future<void>> started_;
  Spent spent_;       // written by the lane, read when it is idle
  TaskThread tasks_;  // last: its thread ends before what its tasks use
};

}  // namespace collbench

#include "training/bucket_reducer.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "training/elements.h"
#include "training/wire_type.h"

namespace collbench {
namespace {

/// Of the calling thread.
Seconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

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

BucketReducer::BucketReducer(Communicator& communicator, Region gradients,
                             std::vector<Bucket> buckets, const WireRule& rule)
    : communicator_(communicator), gradients_(gradients), rule_(rule) {
  set_buckets(std::move(buckets));
}

void BucketReducer::set_buckets(std::vector<Bucket> buckets) {
  buckets_ = std::move(buckets);
  std::int64_t most = 0;
  for (const Bucket& bucket : buckets_) most = std::max(most, bucket.count);
  if (narrows()) wire_.resize(static_cast<std::size_t>(most * size_of(rule_.type)));
}

Seconds BucketReducer::cost_of(std::int64_t count) {
  constexpr int times = 4;  // the first makes plans
  const std::vector<Bucket> buckets = std::exchange(buckets_, {{0, count}});
  set_buckets(buckets_);
  Seconds least{0};
  for (int i = 0; i < times; ++i) {
    start_up_to(count);
    const Seconds taken = wait().time;
    if (i > 0) least = i == 1 ? taken : std::min(least, taken);
  }
  set_buckets(buckets);
  return least;
}

void BucketReducer::start_up_to(std::int64_t end) {
  for (; next_ < buckets_.size(); ++next_) {
    const Bucket bucket = buckets_[next_];
    if (bucket.first + bucket.count > end) return;
    start([this, bucket] { reduce(bucket); });
  }
}

std::shared_future<void> BucketReducer::start(std::function<void()> task) {
  const auto timed = [this, task = std::move(task)] {
    const Seconds before = communicator_.now();
    const Seconds processor_before = processor_time();
    task();
    spent_.time += communicator_.now() - before;
    spent_.processor += processor_time() - processor_before;
  };
  return started_.emplace_back(tasks_.start(timed).share());
}

BucketReducer::Spent BucketReducer::wait() {
  for (const std::shared_future<void>& task : started_) task.get();
  started_.clear();
  next_ = 0;
  return std::exchange(spent_, {});
}

void BucketReducer::reduce(const Bucket& bucket) {
  const Region part = gradients_.part(bucket.first, bucket.count);
  if (rule_.scale_before != 1) scale(part, rule_.scale_before);
  if (!narrows()) {
    sum(part);
  } else {
    const Region narrowed{wire_.data(), part.count, rule_.type};
    narrow(part, narrowed);
    const Elements summed = sum(narrowed);
    widen(narrowed.part(summed.first, summed.count), part.part(summed.first, summed.count));
  }
  if (summed_) summed_(bucket);
}

Elements BucketReducer::sum(Region region) {
  if (!rule_.shares) {
    communicator_.all_reduce(region, region, ReduceOp::sum);
    return {0, region.count};
  }
  const Collective scatter{CollectiveKind::reduce_scatter};
  const Elements share =
      elements_after(scatter, communicator_.rank(), communicator_.ranks(), region.count);
  communicator_.perform(scatter, region, region.part(share.first, share.count), ReduceOp::sum);
  return share;
}

}  // namespace collbench

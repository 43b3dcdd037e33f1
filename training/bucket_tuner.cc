#include "training/bucket_tuner.h"

#include <algorithm>
#include <utility>

#include "training/elements.h"

namespace collbench {

void BucketTuner::begin_backward(Seconds now) {
  began_ = now;
  next_ = 0;
  times_.emplace_back(tensors_.size());
}

void BucketTuner::ready(std::int64_t end, Seconds now) {
  for (; next_ < tensors_.size() && tensors_[next_].first + tensors_[next_].count <= end; ++next_) {
    times_.back()[next_] = now - began_;
  }
}

bool BucketTuner::end_step() {
  if (++steps_ <= warm_up) times_.clear();
  return steps_ == warm_up + measured;
}

std::vector<std::int64_t> BucketTuner::probes(std::int64_t elements) {
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1024; count < elements; count *= 4) counts.push_back(count);
  counts.push_back(elements);
  return counts;
}

std::vector<Seconds> BucketTuner::medians() const {
  std::vector<Seconds> result(tensors_.size());
  for (std::size_t tensor = 0; tensor < tensors_.size(); ++tensor) {
    std::vector<Seconds> all;
    // A step without samples on this rank measures nothing and leaves zeros.
    for (const auto& step : times_) all.push_back(step[tensor]);
    if (all.empty()) continue;
    std::nth_element(all.begin(), all.begin() + std::ssize(all) / 2, all.end());
    result[tensor] = all[all.size() / 2];
  }
  return result;
}

std::vector<Bucket> BucketTuner::plan(const std::vector<Seconds>& costs, int element_bytes,
                                      BucketReducer& reducer, Communicator& communicator) const {
  std::vector<double> figures;
  for (const Seconds time : medians()) figures.push_back(time.count());
  for (const Seconds time : costs) figures.push_back(time.count());
  reducer.run([&] { all_reduce(communicator, figures, ReduceOp::max); });
  BucketTiming timing;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Seconds before = timing.ready.empty() ? Seconds{0} : timing.ready.back();
    timing.ready.push_back(std::max(before, Seconds{figures[i]}));  // each the slowest rank's
  }
  std::vector<Bytes> sizes;
  std::vector<Seconds> slowest;
  const std::vector<std::int64_t> counts = probes(tensors_.back().first + tensors_.back().count);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sizes.push_back(Bytes{counts[i] * element_bytes});
    slowest.emplace_back(figures[tensors_.size() + i]);
  }
  timing.cost = interpolated(std::move(sizes), std::move(slowest));
  return plan_buckets("auto", tensors_, element_bytes, timing);
}

AllReduceCost interpolated(std::vector<Bytes> sizes, std::vector<Seconds> costs) {
  return [sizes = std::move(sizes), costs = std::move(costs)](Bytes size) {
    const auto at = std::lower_bound(sizes.begin(), sizes.end(), size,
                                     [](Bytes a, Bytes b) { return a.count < b.count; });
    if (at == sizes.begin()) return costs.front();
    if (at == sizes.end()) {
      return costs.back() *
             (static_cast<double>(size.count) / static_cast<double>(sizes.back().count));
    }
    const std::ptrdiff_t i = at - sizes.begin();
    const Bytes low = sizes[static_cast<std::size_t>(i - 1)];
    const double share =
        static_cast<double>(size.count - low.count) / static_cast<double>(at->count - low.count);
    const Seconds below = costs[static_cast<std::size_t>(i - 1)];
    return below + (costs[static_cast<std::size_t>(i)] - below) * share;
  };
}

}  // namespace collbench

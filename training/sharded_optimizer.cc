#include "training/sharded_optimizer.h"

#include <algorithm>
#include <utility>

namespace collbench {

ShardedOptimizer::ShardedOptimizer(
    const std::function<std::unique_ptr<Optimizer>(std::int64_t count)>& make,
    std::vector<Bucket> buckets, Rank rank, int ranks)
    : buckets_(std::move(buckets)) {
  for (const Bucket& bucket : buckets_) {
    shares_.push_back(share_of(bucket, rank, ranks));
    optimizers_.push_back(make(shares_.back().count));
  }
}

void ShardedOptimizer::update(std::size_t bucket, Region parameters, Region gradients) {
  optimizers_[bucket]->update(parameters, gradients);
}

void ShardedOptimizer::set_state(const OptimizerState& whole) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    OptimizerState own{whole.updates, {}};
    for (const std::vector<double>& slot : whole.slots) {
      const auto first = slot.begin() + shares_[i].first;
      own.slots.emplace_back(first, first + shares_[i].count);
    }
    optimizers_[i]->set_state(own);
  }
}

OptimizerState ShardedOptimizer::gather(Communicator& communicator) const {
  const std::int64_t all = buckets_.back().first + buckets_.back().count;
  OptimizerState whole;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const OptimizerState own = optimizers_[i]->state();
    whole.updates = own.updates;
    whole.slots.resize(own.slots.size());
    for (std::size_t slot = 0; slot < own.slots.size(); ++slot) {
      std::vector<double>& values = whole.slots[slot];
      values.resize(static_cast<std::size_t>(all));
      std::ranges::copy(own.slots[slot], values.begin() + shares_[i].first);
      const Region vector{reinterpret_cast<std::byte*>(values.data()), all, DataType::f64};
      communicator.perform({CollectiveKind::all_gather},
                           vector.part(shares_[i].first, shares_[i].count),
                           vector.part(buckets_[i].first, buckets_[i].count), ReduceOp::sum);
    }
  }
  return whole;
}

Bytes ShardedOptimizer::memory() const {
  Bytes sum;
  for (const auto& optimizer : optimizers_) sum = sum + optimizer->memory();
  return sum;
}

}  // namespace collbench

// The optimizer of a rank that updates its share of each bucket only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "training/optimizer.h"
#include "training/state_sharding.h"
#include "transports/communicator.h"

namespace collbench {

/// Thread safety: one thread.
class ShardedOptimizer {
 public:
  /// `make` gives an optimizer for so many elements. Buckets cover the parameters, in order.
  ShardedOptimizer(const std::function<std::unique_ptr<Optimizer>(std::int64_t count)>& make,
                   std::vector<Bucket> buckets, Rank rank, int ranks);

  /// Both regions are this rank's share of the bucket.
  void update(std::size_t bucket, Region parameters, Region gradients);
  /// Takes the own shares of the state of an optimizer of all parameters.
  void set_state(const OptimizerState& whole);
  /// That state, put together on every rank, so that training can go on with any number of ranks,
  /// with shares or without. Collective.
  OptimizerState gather(Communicator& communicator) const;
  Bytes memory() const;

 private:
  std::vector<Bucket> buckets_;
  std::vector<Elements> shares_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;  // of each bucket
};

}  // namespace collbench

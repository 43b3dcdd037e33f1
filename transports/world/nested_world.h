// A world of threads in each rank of another world: several replicas in each of several workers.
//
// Thread i of worker w is rank w x threads + i, as in TensorFlow. A sum is hierarchical: the first
// thread of a worker folds those of its threads in their order, the workers all-reduce what these
// hold, and the threads take the result. So all ranks hold the bits of one sum.
#pragma once

#include <vector>

#include "transports/world/thread_world.h"
#include "transports/world/world.h"

namespace collbench {

class NestedWorld final : public World {
 public:
  /// `workers` must outlive it and have one rank in this process. Throws InvalidArgument unless
  /// `threads` is at least 1.
  NestedWorld(World& workers, int threads);

  const Backend& backend() const override { return workers_.backend(); }
  int ranks() const override { return workers_.ranks() * threads_.ranks(); }
  RankRange own_ranks() const override;
  /// `spec` is that of the workers: its algorithm joins them.
  void on_all(const WorldSpec& spec, Seconds timeout, const Work& work) override;
  Communicator& communicator(const WorldSpec& spec, RankContext& context) override;
  std::vector<pid_t> processes() const override { return workers_.processes(); }

 private:
  World& workers_;
  ThreadWorld threads_;
};

}  // namespace collbench

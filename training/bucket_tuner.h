// `--buckets auto` of real training: the first steps measure when gradients are ready, then what
// all-reduces of several sizes cost, and all ranks plan the same buckets from the same figures.
//
// Costs are of the all-reduce that training uses, in its own thread, with whatever it does besides
// (narrowing for the wire). Of all figures the ranks take the greatest: a bucket may start when the
// slowest rank has it ready.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.h"
#include "training/bucket_plan.h"
#include "training/bucket_reducer.h"
#include "training/model.h"
#include "transports/communicator.h"

namespace collbench {

/// Thread safety: one thread.
class BucketTuner {
 public:
  explicit BucketTuner(std::span<const Tensor> tensors) : tensors_(tensors) {}

  static constexpr int warm_up = 1;   // steps before those that are measured
  static constexpr int measured = 4;  // steps

  void begin_backward(Seconds now);
  void ready(std::int64_t end, Seconds now);
  /// Whether all steps are measured; call it after each.
  bool end_step();

  /// The sizes at which costs are measured, up to that of all elements.
  static std::vector<std::int64_t> probes(std::int64_t elements);
  /// The plan from this rank's ready times and its `costs` of probes, both made equal on all ranks
  /// by `communicator`, with the reducer's thread.
  std::vector<Bucket> plan(const std::vector<Seconds>& costs, int element_bytes,
                           BucketReducer& reducer, Communicator& communicator) const;

 private:
  std::vector<Seconds> medians() const;

  std::span<const Tensor> tensors_;
  Seconds began_{0};
  std::size_t next_ = 0;  // tensor that is not ready
  int steps_ = 0;
  std::vector<std::vector<Seconds>> times_;  // of each step, of each tensor
};

/// Interpolates linearly between measured sizes, and in proportion beyond the last. Sizes ascend.
AllReduceCost interpolated(std::vector<Bytes> sizes, std::vector<Seconds> costs);

}  // namespace collbench

// Which buckets of the parameters a replica holds while it computes with parameters that are
// gathered when they are needed: those of the layer that computes, and the next one, which is on
// its way meanwhile.
//
// The forward pass goes through the flat vector from its end to its beginning, the backward pass
// from its beginning to its end; what the forward pass used last the backward pass uses first, so
// that is kept. Real and simulated steps follow the same window.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "training/bucket_plan.h"

namespace collbench {

enum class StepPass : std::uint8_t { none, forward, backward };

/// Thread safety: one thread.
class ParameterWindow {
 public:
  struct Actions {
    std::function<void(std::size_t bucket)> gather;  // starts it
    std::function<void(std::size_t bucket)> wait;    // until it is there
    std::function<void(std::size_t bucket)> release;
  };
  /// `ahead`: the next bucket is gathered while the layers of one compute.
  ParameterWindow(std::vector<Bucket> buckets, bool ahead, Actions actions);

  void begin(StepPass pass);
  /// A layer is about to use elements first..end-1; nothing happens outside of a pass.
  void need(std::int64_t first, std::int64_t end);
  /// After the backward pass nothing is held.
  void end();

 private:
  void gather(std::size_t bucket);
  void release(std::size_t bucket);

  std::vector<Bucket> buckets_;
  bool ahead_;
  Actions actions_;
  StepPass pass_ = StepPass::none;
  std::vector<bool> held_;
};

}  // namespace collbench

// One training step, the same loop for every strategy, on real machines and in simulated time.
//
// It sees a clock and a device that computes (StepCompute), and what sums gradients (GradientSum).
// Buckets of gradients are summed while the backward pass goes on, unless a plan forbids that.
#pragma once

#include <cstdint>

#include "core/units.h"
#include "training/engines/engine.h"

namespace collbench {

/// Where the time of one step went, on one replica. `communication` is the sum over the buckets of
/// the time in their collectives, and `busy` the processor time that their thread took for it;
/// `exposed` is the part of the former, with the wait for slower replicas, that came after the
/// backward pass or for which a pass waited. `checks` is the sum of losses and the comparison of
/// replicas. `waiting` is what a rank spent in exposed communication and checks beyond the rank
/// that spent the least: the time for which it waited for slower ones. Only note_waiting() sets it.
struct StepTimes {
  Seconds input{0};
  Seconds forward{0};
  Seconds backward{0};
  Seconds communication{0};
  Seconds busy{0};
  Seconds exposed{0};
  Seconds optimizer{0};
  Seconds checks{0};
  Seconds waiting{0};
  Seconds whole{0};
};

/// One replica's device and its clock: an engine, a replayed table, or simulated time.
class StepCompute {
 public:
  virtual ~StepCompute() = default;
  virtual Seconds now() const = 0;
  /// Forward and backward passes of a step; gradients of all are summed once, after the last.
  virtual int micro_batches() const { return 1; }
  virtual void read() {}  // takes the samples
  virtual void forward() = 0;
  /// `ready` is null for a micro-batch whose gradients are not communicated.
  virtual void backward(const GradientsReady& ready) = 0;
  virtual void update() {}
  virtual void check() {}  // what replicas compare after the update
};

/// Sums gradients over the replicas, bucket by bucket.
class GradientSum {
 public:
  virtual ~GradientSum() = default;
  struct Spent {
    Seconds time{0};       // in collectives
    Seconds processor{0};  // that their thread took meanwhile
  };
  /// Brings the parameters, where they are not kept by the replica.
  virtual void fetch() {}
  /// How long passes waited for parameters since the last call; part of the time they took.
  virtual Seconds waited() { return Seconds{0}; }
  /// Starts the buckets that are complete once the first `end` elements are.
  virtual void start_up_to(std::int64_t end) = 0;
  /// Waits for what was started; returns what was spent since the last call.
  virtual Spent wait() = 0;
  /// Waits until all replicas have what the update changed, where each updates a part.
  virtual Spent publish() { return {}; }
};

/// Runs one step over `elements` gradients. Throws as its parts do.
StepTimes run_step(StepCompute& compute, GradientSum& sum, std::int64_t elements, bool overlap);

}  // namespace collbench

// A data-parallel training step in simulated time: one worker's computation, and all-reduces of
// buckets that overlap with its backward pass.
//
// Layers run backwards on one compute stream: first the gradients of a layer's parameters, then
// that of its input. Buckets run in order on one communication stream, each once its last tensor is
// ready. Five costs make the difference to published step times:
//
//   per_tensor    delays the backward pass by so much for each tensor (a framework's hooks, copies)
//   per_bucket    delays it for each bucket (the launch of a collective)
//   crowding      computation takes 1 + x times as long where a worker is not alone (power, memory
//                 and processors that workers of a host share)
//   interference  while a collective is in flight, computation takes 1 + x times as long
//   jitter        each worker's computation of each step is longer by a factor exp(x z), z standard
//                 normal; all-reduces start with the slowest worker, so the largest factor counts
//
// Sharded training (training/state_sharding.h) has its other collectives on the same stream:
// buckets are reduce-scattered, and parameters all-gathered behind the update, or ahead of the
// layers that use them; an update takes a share of the time.
//
// All workers share the largest factor for the whole step: all-reduces keep them together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <utility>
#include <vector>

#include "core/units.h"
#include "training/bucket_plan.h"
#include "training/simulated/compute.h"
#include "training/state_sharding.h"
#include "training/step.h"

namespace collbench {

struct StepCosts {
  Seconds per_tensor{0};
  Seconds per_bucket{0};
  double crowding = 0;
  double interference = 0;
  double jitter = 0;
  std::vector<std::pair<int, double>> slow_workers;  // worker and how many times longer it computes
  std::uint64_t seed = 1;
};
/// Throws InvalidArgument for a negative cost, a factor that is not above 0, or a slow worker that
/// is not below `workers`.
void check(const StepCosts& costs, int workers);

/// How much longer each simulated worker computes in each step: some always, all by chance. Thread
/// safety: const.
class Slowness {
 public:
  /// The factor of a worker is exp(jitter z), z standard normal, times that of `slow_workers`.
  /// Requires workers in range.
  Slowness(int workers, double jitter, const std::vector<std::pair<int, double>>& slow_workers,
           std::uint64_t seed);
  /// Equal arguments give equal factors on every machine.
  double of(int worker, std::int64_t step) const;

 private:
  double jitter_;
  std::uint64_t seed_;
  std::vector<double> fixed_;
};

/// What is played. Requires a layer of `compute` for each that tensors name, and a cost for each
/// bucket.
struct StepModel {
  int workers = 1;
  ComputeProfile compute;  // of a micro-batch
  std::vector<Tensor> tensors;
  std::vector<Bucket> buckets;
  StateSharding sharding = StateSharding::none;
  std::vector<Seconds> all_reduce;  // of each bucket; where ranks share, its reduce-scatter
  std::vector<Seconds> all_gather;  // of each bucket; where ranks share
  int element_bytes = 4;            // of a parameter
  int wire_bytes = 4;               // of a gradient on the wire
  StepCosts costs;
  bool overlap = true;
  int accumulate = 1;  // micro-batches of a step; only the last one communicates

  /// The step of a worker that has no others: all micro-batches and one update.
  Seconds alone() const { return compute.whole(accumulate); }
};

/// When tensors would be ready, since the backward pass of the last micro-batch began, if no bucket
/// were launched.
std::vector<Seconds> ready_times(const ComputeProfile& compute, const std::vector<Tensor>& tensors,
                                 Seconds per_tensor);

/// Times since the step began.
struct BucketSpan {
  Bytes bytes;
  Seconds ready{0};
  Seconds start{0};
  Seconds end{0};
};
struct GatherSpan {
  std::size_t bucket = 0;
  BucketSpan span;
};
struct LayerSpan {
  int layer = 0;
  Seconds begin{0};
  Seconds end{0};
};

/// One step of the slowest worker; `times.waiting` is that of the others for it, the mean over all
/// workers.
struct SimulatedStep {
  StepTimes times;
  std::vector<LayerSpan> forward;  // of the last micro-batch
  std::vector<LayerSpan> backward;
  std::vector<BucketSpan> buckets;
  std::vector<GatherSpan> gathers;  // of parameters
};

/// A step whose computation takes `slowdown` times as long.
SimulatedStep simulate_step(const StepModel& model, double slowdown = 1);

Slowness slowness_of(const StepModel& model);

/// Step `number`, as long as it takes the slowest worker. `slowness` is that of the model's costs.
SimulatedStep simulate_step(const StepModel& model, const Slowness& slowness, std::int64_t number);

/// `steps` steps, each with factors of its own. Equal models give equal times on every machine.
std::vector<SimulatedStep> simulate_steps(const StepModel& model, int steps);

/// Writes the Chrome trace event format (JSON) with two rows: the slowest worker's layers, and the
/// collectives of buckets with the time when each was ready. Times are microseconds since the step
/// began. Source: Trace Event Format, Google 2016, events "X" and "M".
void write_step_trace(std::ostream& out, const Workload& workload, const StepModel& model,
                      const SimulatedStep& step);

}  // namespace collbench

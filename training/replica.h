// One replica of data-parallel training: the loop that every strategy runs on every rank.
//
// A step takes the replica's share of the global batch, runs forward and backward, sums the
// gradients over the replicas bucket by bucket while the backward pass goes on, and updates. The
// loss of each sample is scaled by 1 / global batch, so the sum of the gradients is exactly that of
// the mean loss over the global batch, however it is sliced. After each update the replicas compare
// fingerprints of their parameters, and agree whether one of them wants to stop.
//
// Moving statistics of batch normalisation are each replica's own while training (TensorFlow's
// ON_READ with MEAN); where they are read, to evaluate or to save, all replicas take their mean.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "training/bucket_plan.h"
#include "training/data/dataset.h"
#include "training/engines/engine.h"
#include "training/model.h"
#include "training/plan.h"
#include "training/state_sharding.h"
#include "training/step.h"
#include "training/training_state.h"
#include "transports/communicator.h"

namespace collbench {

/// Means over the samples of a step's or an epoch's global batches, before each update.
struct Progress {
  std::int64_t steps = 0;  // finished so far, or in the epoch
  double loss = 0;
  double accuracy = 0;
  Seconds elapsed{0};
  std::int64_t samples = 0;  // taken in that time
};

/// Of `sum`, the score of so many samples.
Progress progress_of(const Score& sum, std::int64_t steps, std::int64_t samples, Seconds elapsed);

/// What a replica does beside training; all may be empty. Called on the replica's thread.
struct ReplicaHooks {
  std::function<void(const Progress&)> on_step;  // after each step
  /// Whether this rank wants to stop. Polled after each step; if any rank does, all stop after it.
  std::function<bool()> stop_wanted;
  /// All ranks or none pass one. Called on rank 0 with the state to save, at the end of a step that
  /// plan.save_every names, of the last step, and of the step after which training stops; the
  /// others wait. If it throws, all ranks throw. Called on a thread of its own, since it may take
  /// longer than ranks wait for each other.
  std::function<void(const TrainingState&)> save;
  const TrainingState* start = nullptr;  // where to go on; must outlive the call
  std::function<void(Rank)> on_thread;   // on the thread of each rank, before it starts any other
  /// Stands between the first replica of this process and its communicator, as StepRecorder does.
  std::function<Communicator&(Communicator&)> around;
};

struct ReplicaReport {
  std::vector<StepTimes> steps;
  std::vector<Progress> epochs;
  std::vector<double> parameters;  // at the end
  std::vector<Bucket> buckets;     // of the last step
  double held_out_accuracy = -1;   // of rank 0, if there are held-out samples
  std::int64_t first_step = 0;     // where it began: not 0 after a resumption
  TrainingMemory memory;           // that the first step took, by the pages of its vectors
  TrainingMemory expected_memory;  // the same by their sizes
  Rank stopped_by = -1;            // the lowest rank that wanted to stop; -1: it went to the end
};

/// Sets `waiting` in every step of all ranks' reports.
void note_waiting(std::vector<ReplicaReport>& reports);

/// Trains as rank communicator.rank(). All ranks must pass equal plans, data and starts. Throws as
/// Communicator does, and WrongResult if replicas ever differ: on every rank, unless the caller of
/// one that threw first ends the world of the others. Communication runs on a thread of its own.
/// `keep`, if not null, receives what peers may still read when this rank has thrown: it must live
/// until they have ended, where ranks read each other's memory. `summing`, if not null, sums the
/// gradients in place of `communicator`; with plan.central only rank 0 needs the sum.
ReplicaReport train_replica(const TrainingPlan& plan, const Dataset& data, const Dataset& held_out,
                            Communicator& communicator, const ReplicaHooks& hooks,
                            std::shared_ptr<void>* keep = nullptr, Communicator* summing = nullptr);

}  // namespace collbench

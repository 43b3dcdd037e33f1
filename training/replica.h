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
#include <string>
#include <vector>

#include "core/data_type.h"
#include "core/units.h"
#include "training/buckets.h"
#include "training/data/dataset.h"
#include "training/data/input_pipeline.h"
#include "training/model.h"
#include "training/optimizer.h"
#include "training/training_state.h"
#include "transports/communicator.h"

namespace collbench {

/// What the loss of a sample counts. exact: 1 / global batch. tensorflow: the mean over the
/// replica's own samples, divided by the replicas, as Keras does; the same for equal shares, but a
/// ragged last batch then weights the samples of short shares more, and empty ones count as well.
enum class LossScaling : std::uint8_t { exact, tensorflow };

/// What all replicas agree on.
struct TrainingPlan {
  Model model;
  OptimizerSpec optimizer;
  std::string engine = "auto";
  DataType type = DataType::f32;
  std::int64_t global_batch = 64;
  int replicas = 1;  // of a worker of parameter servers, which share the batch of its steps
  int epochs = 1;
  std::int64_t steps = 0;  // per epoch; 0: one pass over the data
  std::uint64_t seed = 1;
  std::string buckets = "ddp";  // a rule of bucket_plan.h; auto is measured by bucket_tuner.h
  bool overlap = true;          // false: communication starts when the backward pass is over
  LossScaling loss_scaling = LossScaling::exact;
  bool central = false;           // rank 0 alone updates, and the others take its parameters
  bool mean_before_sum = false;   // gradients are divided by the replicas before their sum (tpu)
  DataType wire = DataType::f64;  // f16, bf16: gradients travel in it; else in their own type
  AutoShard sharding = AutoShard::automatic;
  bool drop_remainder = true;
  std::int64_t save_every = 0;  // steps between checkpoints; 0: at the end of each epoch
};

InputOptions input_of(const TrainingPlan& plan);
/// Throws as InputPipeline does.
std::int64_t steps_per_epoch(const TrainingPlan& plan, const Dataset& data, int replicas);

/// Means over the samples of a step's or an epoch's global batches, before each update.
struct Progress {
  std::int64_t steps = 0;  // finished so far, or in the epoch
  double loss = 0;
  double accuracy = 0;
  Seconds elapsed{0};
  std::int64_t samples = 0;  // taken in that time
};

/// What a replica does beside training; all may be empty. Called on the replica's thread.
struct ReplicaHooks {
  std::function<void(const Progress&)> on_step;  // after each step
  /// Whether this rank wants to stop. Polled after each step; if any rank does, all stop after it.
  std::function<bool()> stop_wanted;
  /// All ranks or none pass one. Called on rank 0 with the state to save, at the end of a step that
  /// plan.save_every names, of the last step, and of the step after which training stops; the
  /// others wait. If it throws, all ranks throw.
  std::function<void(const TrainingState&)> save;
  const TrainingState* start = nullptr;  // where to go on; must outlive the call
  std::function<void(Rank)> on_thread;   // on the thread of each rank, before it starts any other
  /// Stands between the first replica of this process and its communicator, as StepRecorder does.
  std::function<Communicator&(Communicator&)> around;
};

/// Where the time of one step went, on one replica. `communication` is the sum over the buckets of
/// the time in their all-reduce, and `busy` the processor time that their thread took for it;
/// `exposed` is the part of the former, with the wait for slower replicas,
/// that came after the backward pass. `checks` is the sum of losses and the comparison of replicas.
/// `waiting` is what a rank spent in exposed communication and checks beyond the rank that spent
/// the least: the time for which it waited for slower ones. Only note_waiting() sets it.
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

struct ReplicaReport {
  std::vector<StepTimes> steps;
  std::vector<Progress> epochs;
  std::vector<double> parameters;  // at the end
  std::vector<Bucket> buckets;     // of the last step
  double held_out_accuracy = -1;   // of rank 0, if there are held-out samples
  std::int64_t first_step = 0;     // where it began: not 0 after a resumption
  Rank stopped_by = -1;            // the lowest rank that wanted to stop; -1: it went to the end
};

/// Sets `waiting` in every step of all ranks' reports.
void note_waiting(std::vector<ReplicaReport>& reports);

/// Throws InvalidArgument, in the words of TensorFlow's InputContext.get_per_replica_batch_size,
/// unless the batch is a multiple of the number of replicas.
std::int64_t per_replica_batch(std::int64_t global_batch, int replicas);

/// What the summed loss of a replica's samples is multiplied by, where `replicas` share the step.
double gradient_scale(const TrainingPlan& plan, const StepSize& size, int replicas);

/// What the replicas need at least: parameters, gradients, a copy in f64, and activations.
Bytes least_memory(const TrainingPlan& plan, int replicas);

/// Throws InvalidArgument if the plan contradicts itself or does not fit the data or `replicas`,
/// and Unavailable if it needs more memory than there is.
void check(const TrainingPlan& plan, const Dataset& data, int replicas);

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

// One replica of data-parallel training: the loop that every strategy runs on every rank.
//
// A step takes the replica's slice of the global batch, runs forward and backward, sums the
// gradients over the replicas bucket by bucket while the backward pass goes on, and updates. The
// loss of each sample is scaled by 1 / global batch, so the sum of the gradients is exactly that of
// the mean loss over the global batch, however it is sliced. After each update the replicas compare
// fingerprints of their parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/data_type.h"
#include "core/units.h"
#include "training/buckets.h"
#include "training/dataset.h"
#include "training/model.h"
#include "training/optimizer.h"
#include "transports/communicator.h"

namespace collbench {

/// What all replicas agree on.
struct TrainingPlan {
  Model model;
  OptimizerSpec optimizer;
  std::string engine = "auto";
  DataType type = DataType::f32;
  std::int64_t global_batch = 64;
  int epochs = 1;
  std::int64_t steps = 0;  // per epoch; 0: one pass over the data
  std::uint64_t seed = 1;
  BucketRule buckets;
  bool overlap = true;  // false: communication starts when the backward pass is over
};

/// Where the time of one step went, on one replica. `communication` is the sum over the buckets of
/// the time in their all-reduce; `exposed` is the part of it, with the wait for slower replicas,
/// that came after the backward pass. `checks` is the sum of losses and the comparison of replicas.
struct StepTimes {
  Seconds input{0};
  Seconds forward{0};
  Seconds backward{0};
  Seconds communication{0};
  Seconds exposed{0};
  Seconds optimizer{0};
  Seconds checks{0};
  Seconds whole{0};
};

/// Means over the samples of a step's or an epoch's global batches, before each update.
struct Progress {
  std::int64_t steps = 0;  // finished so far, or in the epoch
  double loss = 0;
  double accuracy = 0;
  Seconds elapsed{0};
};

struct ReplicaReport {
  std::vector<StepTimes> steps;
  std::vector<Progress> epochs;
  std::vector<double> parameters;  // at the end
  std::vector<Bucket> buckets;
  double held_out_accuracy = -1;  // of rank 0, if there are held-out samples
};

/// Throws InvalidArgument, in the words of TensorFlow's InputContext.get_per_replica_batch_size,
/// unless the batch is a multiple of the number of replicas.
std::int64_t per_replica_batch(std::int64_t global_batch, int replicas);

/// What the replicas need at least: parameters, gradients, a copy in f64, and activations.
Bytes least_memory(const TrainingPlan& plan, int replicas);

/// Throws InvalidArgument if the plan contradicts itself or does not fit the data or `replicas`,
/// and Unavailable if it needs more memory than there is.
void check(const TrainingPlan& plan, const Dataset& data, int replicas);

/// Trains as rank communicator.rank(). All ranks must pass equal plans and data. `on_step`, if not
/// empty, is called after each step. Throws as Communicator does, and WrongResult if replicas ever
/// differ: on every rank, unless the caller of one that threw first ends the world of the others.
/// Communication runs on a thread of its own.
ReplicaReport train_replica(const TrainingPlan& plan, const Dataset& data, const Dataset& held_out,
                            Communicator& communicator,
                            const std::function<void(const Progress&)>& on_step);

}  // namespace collbench

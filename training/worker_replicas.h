// Several replicas in each of several workers: threads within a worker, an all-reduce among them.
//
// Replica i of worker w is rank w x replicas + i, as in TensorFlow. A sum is hierarchical: the
// first replica of a worker folds those of its threads in their order, the workers all-reduce what
// these hold, and the threads take the result. So all replicas hold the bits of one sum.
#pragma once

#include <memory>
#include <vector>

#include "training/replica.h"
#include "transports/communicator.h"

namespace collbench {

/// Of one replica. `within` joins the threads of a worker and reduces to its rank 0; `across` joins
/// the first replicas of all workers, and is null on others. Both must outlive the result, which
/// sums and broadcasts what they can.
std::unique_ptr<Communicator> make_hierarchical_communicator(Communicator& within,
                                                             Communicator* across, int workers,
                                                             int worker);

/// Trains `replicas` threads of the worker that is `across`.rank(), and returns their reports. Of
/// the hooks, those for one thread are called on that of its first replica. Throws as
/// train_replica(): if one thread fails, all of this worker end.
std::vector<ReplicaReport> train_worker_replicas(const TrainingPlan& plan, int replicas,
                                                 Communicator& across, const Dataset& data,
                                                 const Dataset& held_out,
                                                 const ReplicaHooks& hooks);

}  // namespace collbench

// The `parameter-server` strategy: asynchronous workers and servers that keep the variables, as
// threads of one process. training/asynchronous/remote_coordinator.h has the same in several
// processes.
//
// A step is a closure, as TensorFlow's coordinator schedules them: a free worker takes the next
// one, reads the variables, computes the gradient of its batch, and sends it to the servers, which
// apply it at once. Workers do not wait for each other, so the variables may have changed in
// between: the number of those updates is the staleness. One worker gives the result of one
// replica, except for the rounding of Adam in f32, whose vectors follow the shards; more workers
// give results that differ from run to run.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "training/asynchronous/asynchronous_worker.h"
#include "training/asynchronous/closures.h"
#include "training/asynchronous/variable_store.h"
#include "training/replica.h"

namespace collbench {

struct ServerReport {
  std::vector<ReplicaReport> workers;  // the epochs are in the first; steps are each worker's own
  double mean_staleness = 0;           // updates by others between reading and updating
  std::int64_t most_staleness = 0;
  std::int64_t repeated = 0;  // closures carried out again, for their worker was lost
  std::vector<std::int64_t> server_bytes;
};

/// The state that training begins with: of `start`, or as every replica's.
TrainingState first_state(const TrainingPlan& plan, const TrainingState* start);
/// The part of a state that one server keeps; moving statistics are on the first one.
StoreContents contents_of(const TrainingPlan& plan, const TrainingState& state,
                          const Placement& placement, int server);
/// The reverse, from all servers; step and epoch stay as they are in `state`.
void gather_state(const std::vector<StoreContents>& servers, const Placement& placement,
                  TrainingState& state);

/// The queue of a plan's closures: it pauses where hooks.save is to be called.
Closures closures_of(const TrainingPlan& plan, const Dataset& data, const ReplicaHooks& hooks);
/// Saves in every pause, until the last closure is done or hooks.stop_wanted is true.
/// `state` gives the variables. Throws as Closures and hooks.save do. Returns whether it was
/// stopped.
bool save_in_pauses(Closures& closures, const ReplicaHooks& hooks,
                    const std::function<TrainingState()>& state);
/// The report once all closures are done: staleness, epochs, the parameters and their accuracy.
void conclude(const TrainingPlan& plan, const Closures& closures, const TrainingState& state,
              const Dataset& held_out, const ReplicaHooks& hooks, ServerReport& report);

/// `plan.global_batch` is that of one step, and so of one worker. Of the hooks, on_step is called
/// by one thread at a time, the others on this one. Throws InvalidArgument for less than one worker
/// or server, as check() does, and TransportError where memory or threads do not suffice for all.
ServerReport train_parameter_server(const TrainingPlan& plan, int workers, int servers,
                                    const Dataset& data, const Dataset& held_out,
                                    const ReplicaHooks& hooks = {});

}  // namespace collbench

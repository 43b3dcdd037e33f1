// The `parameter-server` strategy as processes: a chief that hands out closures, keeps the
// checkpoints and has the figures; workers that carry closures out; servers (remote_variables.h)
// that keep the variables.
//
// A lost worker does not stop the run: its closure goes to another one, and it may come back. The
// loss of a server or of the chief ends all tasks with an error that names it.
// Source: tensorflow/python/distribute/coordinator/cluster_coordinator.py.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "training/asynchronous/parameter_server.h"
#include "training/asynchronous/remote_variables.h"
#include "training/asynchronous/run_messages.h"
#include "transports/remote_calls.h"
#include "transports/world/agreement.h"

namespace collbench {

/// The chief: gives the servers their variables, waits for the workers, saves where hooks say so,
/// and ends the servers. `listen` is the address of its own. Throws as train_parameter_server(),
/// and TransportError naming what is missing or lost, or a worker whose `values`, the settings that
/// all must share, differ.
ServerReport coordinate(const TrainingPlan& plan, const ServerRun& run,
                        const std::vector<NamedValue>& values, const Dataset& data,
                        const Dataset& held_out, const ReplicaHooks& hooks, CallNetwork& network,
                        const std::string& listen);

/// Worker `index`. `unfit`, if not empty, is why it cannot take part, which ends the run before it
/// begins. Returns the closures it has carried out. `stop`, polled between closures, lets it leave.
std::int64_t work_for_chief(const TrainingPlan& plan, const ServerRun& run, int index,
                            const std::vector<NamedValue>& values, const std::string& unfit,
                            const Dataset& data, CallNetwork& network,
                            const std::function<bool()>& stop);

}  // namespace collbench

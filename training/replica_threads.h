// The threads of replicas in one process, and the propagation of a failure among them.
#pragma once

#include <functional>

#include "transports/endpoint.h"

namespace collbench {

/// Runs `work` for replicas 0..count-1, each on a thread of its own, until all have left. When one
/// throws, `failed` is called on its thread, one call at a time, to end the others. Then the first
/// failure is thrown: one that is no TransportError before those, which may be its consequences.
void run_replica_threads(int count, const std::function<void(Rank)>& work,
                         const std::function<void(Rank)>& failed);

}  // namespace collbench

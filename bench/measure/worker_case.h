// What one rank does with one case: make its communicator and buffers, take part in the sampling,
// and turn what goes wrong into a fault that all ranks learn of.
#pragma once

#include <variant>

#include "bench/measure/backend.h"
#include "bench/measure/user_buffers.h"
#include "bench/records/record.h"
#include "transports/world/shared_rendezvous.h"

namespace collbench {

using CaseOutcome = std::variant<Measurement, Fault>;

/// Runs the case on the calling thread, pinned if asked for. A fault has then been announced in the
/// control block and in the arena, so no other rank goes on waiting.
CaseOutcome run_worker_case(const Backend& backend, const Case& which, const Sampling& sampling,
                            Control control, WorkerContext& context);

/// The two parts of it, for ranks that meet elsewhere than in a control block: what a rank does for
/// itself, which leaves the communicator in the context, and what all ranks do together.
UserBuffers prepare_case(const Backend& backend, const Case& which, WorkerContext& context);
Measurement measure_prepared(const Backend& backend, const Case& which, const Sampling& sampling,
                             WorkerContext& context, const UserBuffers& buffers);

}  // namespace collbench

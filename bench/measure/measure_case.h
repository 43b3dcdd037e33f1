// What one rank of a world does with one case: make its communicator and buffers, and take part in
// the sampling.
#pragma once

#include <string>

#include "bench/measure/user_buffers.h"
#include "bench/records/record.h"
#include "transports/world/backend.h"
#include "transports/world/worker.h"

namespace collbench {

/// The world that a case asks for.
WorldSpec world_of(const Case& point);

/// The part that each rank does alone; leaves the communicator in the context. Throws as
/// Backend::make_communicator, and InvalidArgument where memory is missing.
UserBuffers prepare_case(const Backend& backend, const Case& point, RankContext& context);
/// The part that all ranks do together; it begins by comparing what they are about to do.
Measurement measure_prepared(const Backend& backend, const Case& point, const Sampling& sampling,
                             RankContext& context, const UserBuffers& buffers);
/// Both, on the calling thread, pinned if asked for.
Measurement measure_case(const Case& point, const Sampling& sampling, RankContext& context);

/// The case as an order for ranks that are processes, what carries it out there, and its answer,
/// which only rank 0 gives.
std::string case_order(const Case& point, const Sampling& sampling);
std::string carry_out_case(RankContext& context, const WorldSpec& spec, const std::string& order);
Measurement read_measurement(const std::string& answer);

}  // namespace collbench

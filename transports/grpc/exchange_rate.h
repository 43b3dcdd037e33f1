// The bound of a ring: how fast neighbours exchange bytes over an endpoint when nothing is reduced.
#pragma once

#include "core/units.h"
#include "transports/endpoint.h"

namespace collbench {

/// Every rank sends `message` bytes to the next rank and receives as many from the previous one at
/// once, `iterations` times after one to warm up; all ranks must call it. The rate of one direction
/// of this rank, which counts from when all ranks have warmed up. A ring all-reduce of n bytes over
/// N ranks takes at least 2 (N-1)/N n over this rate with messages of n/N.
/// Throws InvalidArgument without a message, an iteration or a second rank.
Bandwidth measure_exchange_rate(Endpoint& endpoint, Bytes message, int iterations);

}  // namespace collbench

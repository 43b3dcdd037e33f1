// Measures one case, given a communicator, buffers and a rendezvous for each rank.
//
// A timed iteration: the neutral barrier, then each rank notes the time, reduces, notes the time
// again. Its latency is from the last arrival to the last completion over all ranks. Time stamps
// are gathered after every batch, not within it. A second loop runs batches of iterations without a
// barrier between and takes the slowest rank's time. The exact check comes before and after; of
// buffers that are produced anew for every iteration, every result is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bench/measure/user_buffers.h"
#include "bench/records/case.h"
#include "bench/records/record.h"
#include "transports/communicator.h"
#include "transports/world/agreement.h"
#include "transports/world/rendezvous.h"

namespace collbench {

/// Nanoseconds of a clock; where ranks share a clock, of that one.
using NanosecondClock = std::function<std::int64_t()>;
/// CLOCK_MONOTONIC, which all threads and processes of a machine share.
std::int64_t monotonic_ns();

/// Runs this rank's part and returns the same measurement on every rank, except `played`, which is
/// this rank's description, and without load warnings. Every rank calls it with equal arguments.
/// Throws TransportError, saying which rank has what, if the ranks' cases or samplings differ.
Measurement sample(const Case& point, const Sampling& sampling, Communicator& tested,
                   Rendezvous& rendezvous, const UserBuffers& buffers,
                   const NanosecondClock& clock = monotonic_ns);

/// What ranks must agree on before they measure cases: the fields of the cases and the sampling.
std::vector<NamedValue> agreed_values(std::span<const Case> cases, const Sampling& sampling);

}  // namespace collbench

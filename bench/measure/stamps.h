// Time stamps of iterations, and the latencies that they give.
#pragma once

#include <cstdint>
#include <span>

#include "bench/records/record.h"

namespace collbench {

/// One rank's time stamps of one iteration.
struct Stamp {
  std::int64_t arrival_ns;
  std::int64_t completion_ns;
};
/// Adds the latencies and skews of a batch: `stamps` holds every rank's batch, one rank after the
/// other. With one clock, last arrival to last completion; without, the longest rank's own time,
/// and no skew is known.
void append_batch(std::span<const Stamp> stamps, int ranks, bool one_clock, Measurement& measured);
/// Adds how long each rank was in each iteration of a batch, iteration by iteration.
void append_rank_times(std::span<const Stamp> stamps, int ranks, Measurement& measured);

}  // namespace collbench

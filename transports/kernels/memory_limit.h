// The memory limit: what rate of reads and writes a fused all-reduce could at best reach here.
//
// A fused all-reduce of n bytes over N ranks in place must read N n and write N n bytes, so it
// takes at least 2 N n / B, where B is this rate (bus bandwidth at most B (N - 1) / N^2).
#pragma once

#include "core/units.h"

namespace collbench {

/// Measures B: 2, 4 and 8 arrays, `working_set` together, are read at once, summed and all
/// overwritten, each of `threads` threads working on its own slice of every array; by plain loops
/// and by the reduction kernels, for the faster of the two is what can be reached. Before a timed
/// pass every array is rewritten by one thread, as producers of data do, so most lines come from
/// another core's cache or from memory. Reads plus writes count; a pass takes from the first
/// thread's start to the last one's end; the best pass counts. Takes at most about `budget`, but at
/// least one pass of each kind. Throws InvalidArgument if an argument is not positive.
Bandwidth measure_memory_bandwidth(int threads, Bytes working_set, Seconds budget);

}  // namespace collbench

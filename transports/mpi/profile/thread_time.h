// How much of a thread's time between its collectives is no work of its own: it was inside of MPI,
// where it waits for others, or ready to run without a processor.
#pragma once

#include <cstdint>

namespace collbench {

/// CLOCK_MONOTONIC.
std::int64_t now_ns();

/// Both ends of a call of MPI by this thread; calls inside of it do not count again.
void enter_mpi(std::int64_t now);
void leave_mpi(std::int64_t now);

/// The time that was no work of this thread since it was last asked, in microseconds.
std::uint32_t take_not_own_us();

}  // namespace collbench

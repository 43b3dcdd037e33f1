// The clock that all processes of a profiled job are compared with: that of `collbench profile`,
// which answers at a port (cli/clock_server.h). Not by messages of MPI: a rank without the profiler
// would not answer them.
#pragma once

#include <string>

#include "transports/mpi/profile/profile_format.h"

namespace collbench {

/// Equal for processes whose CLOCK_MONOTONIC is the same: those of one start of one kernel.
std::string clock_identity();

/// The clock of this process against that of `reference`, "IDENTITY 10.0.0.1:4567 ...": by the
/// quickest of some questions, whose answer was written half of its time after it. `error_ns` is
/// -1 if it is another clock and none of its addresses answers.
ProfiledClock clock_against(const char* reference);

}  // namespace collbench

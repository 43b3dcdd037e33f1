// The one MPI session of a process: started at first use, finalized by end_library_sessions().
//
// One thread makes all calls. Asking for MPI_THREAD_FUNNELED, which says just that, makes Open MPI
// 4.1 lock: a 4-byte sum of 4 ranks on 2 cores then takes 2.6 us instead of 2.15. Threads that make
// no calls do not disturb it.
#pragma once

#include <string>
#include <string_view>

#include "algorithms/schedule.h"

namespace collbench {

/// Makes this process a rank of MPI_COMM_WORLD, once. Failures of later calls come back as codes,
/// for check_mpi(). Throws TransportError.
void start_mpi_session();
/// Finalizes it, for processes whose MPI ends before their exit; no call may follow.
void end_mpi_session();

/// Lets this rank hear what others tell by fail_mpi_session(), which MPI itself has no way for.
/// Collective; later calls do nothing. Throws TransportError.
void hear_mpi_failures();
/// What the first rank that failed has told; empty as long as none has. Requires
/// hear_mpi_failures().
std::string heard_mpi_failure();
/// Tells the ranks that hear failures why this one has failed, and leaves MPI unfinalized at exit:
/// to finalize waits for all ranks, and one is lost. The launcher ends those that are left once
/// this process has.
void fail_mpi_session(const std::string& why);

/// Throws TransportError with MPI's own words unless `code` is MPI_SUCCESS.
void check_mpi(int code, std::string_view call, Rank rank);

}  // namespace collbench

// MPI as a black box: the same Communicator, played by MPI_Allreduce over MPI_COMM_WORLD.
//
// An MPI process belongs to one world, made by the library's launcher. So a team of MPI workers is
// the command of mpirun_command() with the worker's own command line after it, and each worker
// makes one communicator. Which algorithm Open MPI plays is fixed when its processes start, hence
// it is part of that command too, and one team measures one algorithm.
//
// What MPI can do here: f32, f64, i32, i64 and u8; sum, prod, min and max, and avg, which MPI
// lacks, as a sum that is scaled afterwards. MPI 3 has no f16 and no bf16. Any MPI-3 library
// serves; names of algorithms are known for Open MPI.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transports/communicator.h"

namespace collbench {

/// "mpi", which leaves the choice to the library, and "mpi:linear", "mpi:nonoverlapping",
/// "mpi:recursive-doubling", "mpi:ring", "mpi:segmented-ring" (128 KiB segments) and
/// "mpi:rabenseifner": Open MPI's coll/tuned algorithms 1 to 6. Open MPI itself plays another one
/// where these do not fit, as a ring over fewer elements than ranks.
std::vector<std::string> mpi_algorithms();

/// The launcher and its options for `ranks` ranks on this host, to be followed by a command line:
/// {"/usr/bin/mpiexec", "-n", "4", ...}. Under Open MPI it permits more ranks than cores and root,
/// binds nothing (workers pin themselves) and lets ranks yield exactly when they are more than the
/// cores, without which a 4-byte sum takes a time slice; either way this is the library's best
/// case. End it with SIGTERM: after SIGKILL the launcher leaves files in /tmp and /dev/shm.
/// Throws InvalidArgument for fewer than 1 rank or, with a suggestion, an unknown algorithm,
/// Unavailable if this library has none of that name.
std::vector<std::string> mpirun_command(int ranks, const std::string& algorithm);

/// "Open MPI v4.1.4", "MPICH Version: 4.0.2": what this build is linked with.
std::string mpi_library();

/// This process's rank of MPI_COMM_WORLD. Initializes MPI at the first call; it is finalized when
/// the process exits. `algorithm` must be the one the processes were started for; otherwise throws
/// InvalidArgument. MPI has no timeout: a rank that waits for a lost one is ended by the launcher,
/// and a rank that waits for a stuck one by the process that started the launcher.
/// Thread safety: one thread per process, the same for all communicators.
std::unique_ptr<Communicator> make_mpi_communicator(const std::string& algorithm);

}  // namespace collbench

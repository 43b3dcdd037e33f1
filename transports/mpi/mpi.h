// MPI's own collectives: the same Communicator, played by MPI_Allreduce and the like. (Our
// schedules over its messages are mpi_endpoint.h.)
//
// An MPI process belongs to one world, made by the library's launcher. So a team of MPI workers is
// the command of mpirun_command() with the worker's own command line after it. Which algorithm the
// library plays is said by each communicator (mpi_choice.h).
//
// What MPI can do here: f32, f64, i32, i64 and u8; sum, prod, min and max, and avg, which MPI
// lacks, as a sum that is scaled afterwards. MPI 3 has no f16 and no bf16. Any MPI-3 library
// serves; names of algorithms are known for Open MPI and MPICH.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transports/communicator.h"

namespace collbench {

/// The launcher and its options for `ranks` ranks on this host, to be followed by a command line:
/// {"/usr/bin/mpiexec", "-n", "4", ...}. Under Open MPI it permits more ranks than cores and root,
/// binds nothing (workers pin themselves) and lets ranks yield exactly when they are more than the
/// cores, without which a 4-byte sum takes a time slice; either way this is the library's best
/// case. End it with SIGTERM: after SIGKILL the launcher leaves files in /tmp and /dev/shm.
/// Throws InvalidArgument for fewer than 1 rank.
std::vector<std::string> mpirun_command(int ranks);

/// "Open MPI v4.1.4", "MPICH Version: 4.0.2": what this build is linked with.
std::string mpi_library();

/// Throws Unavailable for a type that MPI does not have, and for a vector of more elements than its
/// calls for the collective can count.
void require_mpi_elements(CollectiveKind kind, DataType type, Bytes vector);

/// This process's rank of MPI_COMM_WORLD, whose all-reduces are those of `algorithm`
/// (mpi_algorithm()). Initializes MPI at the first call; it is finalized when the process exits.
/// Collective. Throws as mpi_algorithm() and choose_mpi_algorithm(). MPI has no timeout: a rank
/// that waits for a lost one is ended by the launcher, and a rank that waits for a stuck one by the
/// process that started the launcher.
/// Thread safety: one thread per process, the same for all communicators.
std::unique_ptr<Communicator> make_mpi_communicator(const std::string& algorithm);

}  // namespace collbench

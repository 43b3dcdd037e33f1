// MPI as a black box: ranks as processes that the library's launcher starts.
#include <fmt/format.h>

#include "core/error.h"
#include "transports/mpi/mpi.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

// Started by anything but its own launcher, every process is a world of its own.
std::unique_ptr<Communicator> make_mpi_rank(const WorldSpec& spec, RankContext& context) {
  auto communicator = make_mpi_communicator(spec.algorithm);
  if (communicator->ranks() == context.ranks && communicator->rank() == context.rank) {
    return communicator;
  }
  throw Unavailable(fmt::format(
      "this process is rank {} of {} for MPI and rank {} of {} for its launcher; start it with the "
      "launcher of the MPI that this build has, {}",
      communicator->rank(), communicator->ranks(), context.rank, context.ranks, mpi_library()));
}

std::vector<std::string> launcher(const WorldSpec& spec) {
  return mpirun_command(spec.ranks, spec.algorithm);
}

}  // namespace

void complete_mpi(Backend& row) {
  row.summary = "MPI_Allreduce of " + mpi_library() + ", one process per worker";
  row.make_communicator = make_mpi_rank;
  row.launcher = launcher;
}

}  // namespace collbench

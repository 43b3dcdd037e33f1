// MPI as a black box: ranks as processes that the library's launcher starts.
#include "transports/mpi/mpi.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

std::unique_ptr<Communicator> make_mpi_rank(const WorldSpec& spec, RankContext&) {
  return make_mpi_communicator(spec.algorithm);
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

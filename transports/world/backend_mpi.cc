// MPI as a black box: ranks as processes that the library's launcher starts.
#include "core/error.h"
#include "transports/mpi/mpi.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

std::unique_ptr<Communicator> make_mpi_rank(const WorldSpec& spec, RankContext&) {
  return make_mpi_communicator(spec.algorithm);
}

std::vector<std::string> launcher(const WorldSpec& spec) {
  require(spec.collective.kind == CollectiveKind::all_reduce || spec.algorithm == "mpi",
          spec.algorithm + " is an algorithm of MPI_Allreduce; for " +
              std::string(to_string(spec.collective.kind)) + " name mpi, which chooses itself");
  return mpirun_command(spec.ranks, spec.algorithm);
}

}  // namespace

void complete_mpi(Backend& row) {
  row.summary = "MPI_Allreduce and the like of " + mpi_library() + ", one process per worker";
  row.make_communicator = make_mpi_rank;
  row.launcher = launcher;
}

}  // namespace collbench

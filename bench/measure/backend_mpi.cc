// MPI as a black box: ranks as processes that the library's launcher starts.
#include "bench/measure/backend.h"
#include "transports/mpi/mpi.h"

namespace collbench {
namespace {

WorkerKind kind(const Case&) { return WorkerKind::launched; }

std::unique_ptr<Communicator> make_communicator(const Case& which, WorkerContext&) {
  return make_mpi_communicator(which.algorithm);
}

std::vector<std::string> launcher(const Case& which) {
  return mpirun_command(which.workers, which.algorithm);
}

}  // namespace

Backend mpi_backend() {
  Backend row;
  row.name = "mpi";
  row.summary = "MPI_Allreduce of " + mpi_library() + ", one process per worker";
  row.kind = kind;
  row.make_communicator = make_communicator;
  row.launcher = launcher;
  row.keeps_communicator = true;
  row.team_per_algorithm = true;  // fixed when the library's processes start
  return row;
}

}  // namespace collbench

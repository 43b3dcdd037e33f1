// MPI as a black box: ranks as processes that the library's launcher starts.
#include "transports/mpi/mpi.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

RankKind mpi_rank_kind(const WorldSpec&) { return RankKind::launched; }

std::unique_ptr<Communicator> make_mpi_rank(const WorldSpec& spec, RankContext&) {
  return make_mpi_communicator(spec.algorithm);
}

std::vector<std::string> launcher(const WorldSpec& spec) {
  return mpirun_command(spec.ranks, spec.algorithm);
}

}  // namespace

Backend mpi_backend() {
  Backend row;
  row.is_black_box = true;
  row.name = "mpi";
  row.summary = "MPI_Allreduce of " + mpi_library() + ", one process per worker";
  row.kind = mpi_rank_kind;
  row.make_communicator = make_mpi_rank;
  row.launcher = launcher;
  row.keeps_communicator = true;
  row.world_per_algorithm = true;  // fixed when the library's processes start
  return row;
}

}  // namespace collbench

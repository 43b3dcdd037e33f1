// The row of MPI in a build without it.
#include "transports/world/backend.h"

namespace collbench {

Backend mpi_backend() {
  Backend row;
  row.is_black_box = true;
  row.name = "mpi";
  row.summary = "MPI_Allreduce, one process per worker";
  row.unavailable = "this build has no MPI (Debian: libopenmpi-dev, openmpi-bin)";
  return row;
}

}  // namespace collbench

// How a name of mpi_algorithms() reaches Open MPI, for mpi.cc and mpi_launch.cc alone.
#pragma once

#include <string>

namespace collbench {

/// The MCA parameter that names the all-reduce algorithm. Open MPI reads it at start, and shows it
/// to every process as OMPI_MCA_<name>.
constexpr const char* tuned_algorithm_parameter = "coll_tuned_allreduce_algorithm";

/// Its value for `algorithm`: 1 to 6, or 0 where the library chooses. Throws as mpirun_command().
int tuned_algorithm_id(const std::string& algorithm);

}  // namespace collbench

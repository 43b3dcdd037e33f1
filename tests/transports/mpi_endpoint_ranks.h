// What two ranks do with an MPI endpoint alone, without a schedule; mpi_test.cc starts them.
#pragma once

#include <string>

namespace collbench {

/// Exit status 0 if all is well on this rank: "order", "twice", "sums", "freed", "staged" or
/// "flood".
int play_endpoint(const std::string& part);

}  // namespace collbench

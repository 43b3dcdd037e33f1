// Which all-reduce an MPI library plays: chosen while it runs, through its control variables
// (MPI 3, chapter 14), so that the same processes measure all of them.
//
// Open MPI notes the choice when a communicator is made and obeys it only where its dynamic rules
// are switched on before it starts; MPICH looks at each call. Names of algorithms are known for
// these two.
#pragma once

#include <string>
#include <vector>

#include "core/units.h"

namespace collbench {

/// One all-reduce of the library: "mpi" leaves the choice to it.
struct MpiAlgorithm {
  std::string name;  // "mpi:ring"
  Bytes segment{0};  // of the segmented ring, which is "mpi:segmented-ring:segment=131072"
  int number = 0;    // in the library's own variable
};

/// Those of the library that this build is linked with; "mpi" comes first.
std::vector<std::string> mpi_algorithms();
/// Throws InvalidArgument with a suggestion for an unknown name, and for a segment that is no size.
MpiAlgorithm mpi_algorithm(const std::string& name);

/// What this process saw the library play last: "ring", "segmented-ring:segment=65536"; empty where
/// it does not show that, as MPICH does not.
std::string last_played();
/// What last_played() says where the algorithm is obeyed.
std::string played_name(const MpiAlgorithm& algorithm);

/// Makes the library play it: in communicators made, and calls made, before the next choice.
/// Throws Unavailable if the library does not let itself be told. Thread safety: as MPI.
void choose_mpi_algorithm(const MpiAlgorithm& algorithm);

}  // namespace collbench

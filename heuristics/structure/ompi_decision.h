// What Open MPI's coll/tuned takes by itself: its all-reduce algorithms by number, and the fixed
// rules that choose one.
//
// The rules know only the size of the communicator and of the vector. Their switch points are
// averages over the clusters that Open MPI's contributors measured, for commutative operators,
// which all of ours are. Source: Open MPI 4.1, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c and
// ompi/mca/coll/base/coll_base_allreduce.c.
#pragma once

#include <cstdint>

#include "core/units.h"

namespace collbench {

/// The numbers that rules files and coll_tuned_allreduce_algorithm use. 0 leaves it to the library.
enum class OmpiAlgorithm : int {
  linear = 1,
  nonoverlapping = 2,
  recursive_doubling = 3,
  ring = 4,
  segmented_ring = 5,
  rabenseifner = 6
};

/// What the fixed rules choose. Requires ranks >= 1.
OmpiAlgorithm ompi_fixed_rule(int ranks, Bytes bytes);

/// What the chosen function then plays: ring needs an element per rank and otherwise falls to
/// recursive doubling, Rabenseifner's to linear.
OmpiAlgorithm ompi_played(OmpiAlgorithm chosen, int ranks, std::int64_t elements);

}  // namespace collbench

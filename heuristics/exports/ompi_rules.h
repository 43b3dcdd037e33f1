// Open MPI's all-reduce algorithms by the names and numbers that its rules files and options use;
// heuristics/structure/ompi_decision.h has the rules by which it chooses among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "heuristics/structure/ompi_decision.h"

namespace collbench {

std::string_view to_string(OmpiAlgorithm algorithm);

/// What a rules file says for one algorithm: its number, 0 leaves it to the library, and the bytes
/// of a segment, 0 where there are none.
struct OmpiRule {
  int number = 0;
  std::int64_t segment = 0;
};

/// For our algorithms, and for the library's own as MPI back ends name them: "mpi",
/// "mpi:rabenseifner", "mpi:segmented-ring:segment=65536".
std::optional<OmpiRule> ompi_rule_of(std::string_view algorithm);

/// Open MPI's number for one of our algorithms ("ring", "ring:segments=4",
/// "halving-doubling", "reduce-broadcast", ...); nothing if it has none like it.
std::optional<OmpiAlgorithm> ompi_algorithm_of(std::string_view algorithm);

}  // namespace collbench

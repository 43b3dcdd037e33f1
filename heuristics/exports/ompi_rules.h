// Open MPI's all-reduce algorithms by the names and numbers that its rules files and options use;
// heuristics/structure/ompi_decision.h has the rules by which it chooses among them.
#pragma once

#include <optional>
#include <string_view>

#include "heuristics/structure/ompi_decision.h"

namespace collbench {

std::string_view to_string(OmpiAlgorithm algorithm);

/// Open MPI's number for one of our algorithms ("ring", "ring:segments=4",
/// "halving-doubling", "reduce-broadcast", ...); nothing if it has none like it.
std::optional<OmpiAlgorithm> ompi_algorithm_of(std::string_view algorithm);

}  // namespace collbench

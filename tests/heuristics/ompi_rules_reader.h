// A strict reader of Open MPI's dynamic rules: what the export to Open MPI writes is read back and
// compared. Open MPI itself passes over a broken file in silence and ends the job at an unknown
// algorithm.
#pragma once

#include <string>
#include <string_view>

#include "heuristics/policies/selection_table.h"

namespace collbench {

/// Reads a file with all-reduce alone. Nodes are 1. Throws InvalidArgument as FILE:LINE:.
SelectionTable read_ompi_rules(std::string_view text, const std::string& file);

/// The rule for a size. Requires rules.
const SizeRule& rule_for(const ScaleRules& scale, Bytes bytes);

}  // namespace collbench

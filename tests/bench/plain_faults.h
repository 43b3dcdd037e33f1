// Faults put into tables without a model of the library (plain_faults.cc).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/bench/diagnosis_tables.h"

namespace collbench {

/// Those whose curve reports describe.
const std::vector<std::string>& plain_causes();

/// As inject(), with the same noise and the same demand that something shows.
std::optional<TableFault> inject_plain(const std::string& cause,
                                       const std::vector<KnownTable>& healthy,
                                       RandomEngine& random);

}  // namespace collbench

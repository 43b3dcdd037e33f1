// The rows of the registry as they are written down: registry.h reads them.
#pragma once

#include <vector>

#include "algorithms/registry.h"

namespace collbench {

std::vector<AlgorithmInfo> registry_rows();

}  // namespace collbench

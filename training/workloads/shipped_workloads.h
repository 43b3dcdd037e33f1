// The tables training/workloads/*.csv.
#pragma once

#include <span>

#include "core/shipped_file.h"

namespace collbench {

/// By name.
std::span<const ShippedFile> shipped_workload_files();

}  // namespace collbench

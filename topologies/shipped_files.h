// The machine files topologies/*.toml.
#pragma once

#include <span>

#include "core/shipped_file.h"

namespace collbench {

/// By name.
std::span<const ShippedFile> shipped_files();

}  // namespace collbench

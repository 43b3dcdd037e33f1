// Refuses what would not fit into memory, before the kernel ends the process for it.
#pragma once

#include <cstddef>
#include <string>

namespace collbench {

/// Throws InvalidArgument naming `what`, the need and what is available unless `bytes` more fit,
/// with an eighth of the available memory left over. Amounts below 16 MiB are not looked at.
void require_memory(std::size_t bytes, const std::string& what);

}  // namespace collbench

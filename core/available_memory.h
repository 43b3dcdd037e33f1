// How much more memory this process may allocate, so that requests that cannot fit are refused
// early.
#pragma once

#include <string>

#include "core/units.h"

namespace collbench {

/// What the kernel would hand out without swapping (MemAvailable of /proc/meminfo), no more than
/// what is left of this process's control groups and of its address space limit; the largest
/// Bytes if none can be read.
Bytes available_memory();

/// Throws TransportError, led by `subject`, "100 samples", if they need more than is available.
void require_available(Bytes needed, const std::string& subject);

}  // namespace collbench

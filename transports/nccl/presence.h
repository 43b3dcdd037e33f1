// Whether NCCL can be used here, and why not.
#pragma once

#include <string>

namespace collbench {

/// The first thing missing: driver, then devices, then the library. Empty if NCCL can be used.
/// Starts the driver if there is one; never throws.
std::string why_no_nccl();

}  // namespace collbench

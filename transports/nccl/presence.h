// Whether NCCL can be used here, and why not.
#pragma once

#include <string>

namespace collbench {

/// What is missing first: driver and devices before the library. Empty if NCCL can be used. Starts
/// the driver where there is one; never throws.
std::string why_no_nccl();

}  // namespace collbench

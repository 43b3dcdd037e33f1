// CUDA's error codes as collbench's exceptions.
#pragma once

#include <string>

namespace collbench {

/// Returns if `error`, a cudaError_t, is success. Throws Unavailable for memory that a device does
/// not have and for kernels that this build has no code of for the device, TransportError for
/// anything else; `call` names what failed. Clears the error, unless it is sticky.
void check_cuda(int error, const std::string& call);

}  // namespace collbench

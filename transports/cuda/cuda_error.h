// What CUDA says, as one of our errors.
#pragma once

#include <string>

namespace collbench {

/// Returns if `error`, a cudaError_t, is success. Throws Unavailable for memory that a device does
/// not have and for kernels that this build has no code of for the device, TransportError for
/// anything else; `call` says what failed. Clears the error, unless it is one that stays.
void check_cuda(int error, const std::string& call);

}  // namespace collbench

#include "transports/nccl/presence.h"

#include "transports/cuda/driver.h"
#include "transports/cuda/nccl_library.h"

namespace collbench {

std::string why_no_nccl() {
  const CudaDriverState driver = find_cuda_driver();
  return driver.unavailable.empty() ? find_nccl().unavailable : driver.unavailable;
}

}  // namespace collbench

// The devices of a build without the CUDA Toolkit.
#include "transports/cuda/devices.h"

namespace collbench {

CudaDevices find_cuda_devices() {
  CudaDevices none;
  none.unavailable = no_cuda_support;
  return none;
}

}  // namespace collbench

// The devices of a build without the CUDA Toolkit.
#include "transports/cuda/devices.h"

namespace collbench {

CudaDevices find_cuda_devices() {
  CudaDevices none;
  none.unavailable = "this build has no CUDA support (no CUDA Toolkit 12.0 or newer was used)";
  return none;
}

}  // namespace collbench

#include "transports/cuda/cuda_error.h"

#include <cuda_runtime_api.h>

#include "core/error.h"

namespace collbench {

void check_cuda(int error, const std::string& call) {
  const auto code = static_cast<cudaError_t>(error);
  if (code == cudaSuccess) return;
  cudaGetLastError();
  const std::string what =
      call + " failed: " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")";
  if (code == cudaErrorMemoryAllocation) throw Unavailable(what);
  if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorUnsupportedPtxVersion) {
    throw Unavailable(what + "; build collbench with -DCMAKE_CUDA_ARCHITECTURES for this GPU");
  }
  throw TransportError(what);
}

}  // namespace collbench

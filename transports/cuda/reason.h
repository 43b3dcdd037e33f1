// Why there is no usable GPU, and the remedy: CUDA's errors name what failed, not what to do.
//
// Pure and free of CUDA's headers, so that every build tests what only a few machines can show.
#pragma once

#include <string>

#include "transports/cuda/devices.h"

namespace collbench {

/// An error of the runtime, by name and text ("cudaErrorNoDevice", "no CUDA-capable device ...").
struct CudaFailure {
  std::string call;  // "cudaGetDeviceCount"
  std::string name;
  std::string text;
};

/// `visible` is CUDA_VISIBLE_DEVICES, null if not set. Other errors are given in CUDA's words.
std::string why_no_device(const CudaFailure& failure, CudaVersion driver, CudaVersion runtime,
                          const char* visible);

}  // namespace collbench

#include "transports/cuda/reason.h"

#include <fmt/format.h>

namespace collbench {

std::string to_string(CudaVersion version) {
  if (version.number == 0) return "none";
  return fmt::format("{}.{}", version.number / 1000, version.number % 1000 / 10);
}

std::string why_no_device(const CudaFailure& failure, CudaVersion driver, CudaVersion runtime,
                          const char* visible) {
  // The runtime says "insufficient" also where there is no driver at all.
  if (driver.number == 0 &&
      (failure.name == "cudaErrorInsufficientDriver" || failure.name == "cudaErrorNoDevice")) {
    return "no NVIDIA driver on this machine (libcuda.so.1 was not found); install one that "
           "supports CUDA " +
           to_string(runtime) + " or newer";
  }
  if (failure.name == "cudaErrorInsufficientDriver") {
    return fmt::format(
        "the NVIDIA driver is too old: it supports CUDA {}, this build needs {}; update the driver",
        to_string(driver), to_string(runtime));
  }
  if (failure.name == "cudaErrorNoDevice" && visible != nullptr) {
    return fmt::format("CUDA_VISIBLE_DEVICES='{}' leaves no device; unset it to see all", visible);
  }
  if (failure.name == "cudaErrorNoDevice") {
    return "a driver is there but no GPU; in a container, pass the GPUs in (--gpus all)";
  }
  return fmt::format("{} failed: {} ({})", failure.call, failure.text, failure.name);
}

}  // namespace collbench

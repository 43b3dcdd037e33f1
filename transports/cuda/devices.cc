#include "transports/cuda/devices.h"

#include <cstdlib>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "transports/cuda/reason.h"

namespace collbench {
namespace {

class DeviceQueryError : public Error {
 public:
  DeviceQueryError(const char* call, cudaError_t error)
      : Error(call), failure{call, cudaGetErrorName(error), cudaGetErrorString(error)} {}
  CudaFailure failure;
};

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears it for the next caller
  throw DeviceQueryError(call, error);
}

int attribute(cudaDeviceAttr wanted, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, wanted, device), "cudaDeviceGetAttribute");
  return value;
}

std::vector<int> peers_of(int device, int count) {
  std::vector<int> peers;
  for (int other = 0; other < count; ++other) {
    int reachable = 0;
    if (other == device) continue;
    check(cudaDeviceCanAccessPeer(&reachable, device, other), "cudaDeviceCanAccessPeer");
    if (reachable != 0) peers.push_back(other);
  }
  return peers;
}

CudaDevice describe(int device, int count) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return {properties.name,
          fmt::format("{}.{}", attribute(cudaDevAttrComputeCapabilityMajor, device),
                      attribute(cudaDevAttrComputeCapabilityMinor, device)),
          Bytes{static_cast<std::int64_t>(properties.totalGlobalMem)},
          fmt::format("{:04X}:{:02X}:{:02X}.0", attribute(cudaDevAttrPciDomainId, device),
                      attribute(cudaDevAttrPciBusId, device),
                      attribute(cudaDevAttrPciDeviceId, device)),
          peers_of(device, count)};
}

}  // namespace

CudaDevices find_cuda_devices() {
  CudaDevices found;
  try {
    check(cudaRuntimeGetVersion(&found.runtime.number), "cudaRuntimeGetVersion");
    check(cudaDriverGetVersion(&found.driver.number), "cudaDriverGetVersion");
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    for (int device = 0; device < count; ++device) {
      found.devices.push_back(describe(device, count));
    }
  } catch (const DeviceQueryError& error) {
    found.devices.clear();
    found.unavailable = why_no_device(error.failure, found.driver, found.runtime,
                                      std::getenv("CUDA_VISIBLE_DEVICES"));
  }
  return found;
}

}  // namespace collbench

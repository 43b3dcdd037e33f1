// The CUDA devices that this process sees, or the reason why it sees none.
//
// The query starts the driver, which takes tenths of a second, so only commands that concern GPUs
// make it. In a build without the CUDA Toolkit the function returns that as the reason.
#pragma once

#include <string>
#include <vector>

#include "core/units.h"

namespace collbench {

/// A version of CUDA as its libraries number it: 1000 major + 10 minor. 0 is none.
struct CudaVersion {
  int number = 0;
};
/// "13.0", or "none".
std::string to_string(CudaVersion version);

struct CudaDevice {
  std::string name;        // "NVIDIA H200"
  std::string capability;  // compute capability, "9.0"
  Bytes memory;
  std::string pci_bus_id;  // "0000:1B:00.0"
  std::vector<int> peers;  // the devices whose memory it can read directly
};

struct CudaDevices {
  CudaVersion runtime;              // linked into this build
  CudaVersion driver;               // the newest that the driver supports
  std::vector<CudaDevice> devices;  // in CUDA's order, as CUDA_VISIBLE_DEVICES left it
  std::string unavailable;          // why there are none; empty if there are
};

/// Says a build without the CUDA Toolkit.
constexpr const char* no_cuda_support =
    "this build has no CUDA support (no CUDA Toolkit 12.0 or newer was used, or ./collbench saw no "
    "GPU when it built)";

/// Does not throw on CUDA's errors, which become the reason; a device that fails to answer makes
/// all unavailable. Thread safety: free function, no state of ours.
CudaDevices find_cuda_devices();

}  // namespace collbench

// The row of our schedules on GPUs in a build without the CUDA Toolkit.
#include "bench/measure/backend.h"
#include "transports/cuda/devices.h"

namespace collbench {

Backend cuda_backend() {
  Backend row;
  row.name = "cuda";
  row.summary = "our schedules on GPUs, by threads or (isolated) processes, also several on one";
  row.unavailable = find_cuda_devices().unavailable;
  return row;
}

}  // namespace collbench

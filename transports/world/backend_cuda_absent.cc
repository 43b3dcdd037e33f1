// The row of our schedules on GPUs in a build without the CUDA Toolkit.
#include "transports/cuda/devices.h"
#include "transports/world/backend.h"

namespace collbench {

Backend cuda_backend() {
  Backend row;
  row.name = "cuda";
  row.summary = "our schedules on GPUs, by threads or (isolated) processes, also several on one";
  row.on_gpus = true;
  row.takes_devices = true;
  row.transport_option = "executor";
  row.isolates = true;
  row.unavailable = find_cuda_devices().unavailable;
  return row;
}

}  // namespace collbench

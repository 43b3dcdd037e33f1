// The part of `collbench doctor` about GPUs: what is there, what can be used, and why not the rest.
#pragma once

#include <string>

#include "transports/cuda/devices.h"
#include "transports/cuda/nccl_library.h"
#include "transports/nccl/gpu_survey.h"

namespace collbench {

/// A vendor's library that is looked for at run time.
struct FoundLibrary {
  std::string version;
  std::string path;
  std::string unavailable;  // why there is none; empty if there is
};

struct GpuReport {
  CudaDevices cuda;    // as CUDA's runtime sees them; none in builds without the CUDA Toolkit
  GpuSurvey survey;    // as the driver's management library sees them
  NcclLibrary nccl;    // for --algo nccl
  FoundLibrary cudnn;  // for training
};

/// Asks driver and libraries. Never throws.
GpuReport look_for_gpus();

/// Lines of two columns, then the matrix of connections where there are several GPUs.
std::string describe_gpus(const GpuReport& report);
/// One JSON object.
std::string gpus_json(const GpuReport& report);

}  // namespace collbench

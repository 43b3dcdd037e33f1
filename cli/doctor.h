// The findings of `collbench doctor`: what can run here, and what disturbs measurements.
#pragma once

#include <string>
#include <vector>

#include "bench/records/record.h"
#include "heuristics/diagnosis/causes.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/nccl_library.h"
#include "transports/nccl/gpu_survey.h"

namespace collbench {

enum class Health { good, note, bad };

/// One thing that was looked at.
struct Finding {
  std::string what;   // "governor"
  std::string value;  // "powersave"
  Health health = Health::good;
  std::string advice;            // what to do about it; empty if nothing is to be done
  const Cause* cause = nullptr;  // of slow all-reduces; null if it is none
};

/// Judges the machine by its environment. Pure: `smt` is "on", "off" or "unknown".
std::vector<Finding> judge(const Environment& environment, const std::string& smt);

// The part about GPUs: what is there, what can be used, and why not the rest.

struct GpuReport {
  CudaDevices cuda;    // as CUDA's runtime sees them; none in builds without the CUDA Toolkit
  GpuSurvey survey;    // as the driver's management library sees them
  FoundLibrary nccl;   // for --algo nccl
  FoundLibrary cudnn;  // for training
  std::vector<std::string> bus_ids = {};  // cuda_bus_ids()
};

/// What slows all-reduces down among the GPUs: one that is throttled, peers that cannot read each
/// other's memory. Pure.
std::vector<Finding> judge_gpus(const GpuReport& report);

/// Queries driver and libraries. Never throws.
GpuReport look_for_gpus();

/// Lines of two columns, then the matrix of connections where there are several GPUs.
std::string describe_gpus(const GpuReport& report);
/// One JSON object.
std::string gpus_json(const GpuReport& report);

}  // namespace collbench

// This machine with its GPUs, for `topo from-machine`.
#pragma once

#include <vector>

#include "topologies/local_machine.h"
#include "transports/nccl/gpu_survey.h"

namespace collbench {

/// The GPUs of a survey as parts of a machine. GPUs that are only one PCIe switch apart share it.
std::vector<LocalGpu> local_gpus(const GpuSurvey& survey);

}  // namespace collbench

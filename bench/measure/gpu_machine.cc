#include "bench/measure/gpu_machine.h"

#include <algorithm>

namespace collbench {

std::vector<LocalGpu> local_gpus(const GpuSurvey& survey) {
  std::vector<LocalGpu> gpus;
  for (std::size_t i = 0; i < survey.gpus.size(); ++i) {
    const GpuFacts& facts = survey.gpus[i];
    LocalGpu gpu;
    gpu.bus_id = facts.bus_id;
    gpu.node = facts.numa_node;
    gpu.sm = facts.sm;
    gpu.pcie_generation = facts.pcie_generation;
    gpu.pcie_lanes = facts.pcie_lanes;
    gpu.switch_links = facts.switch_links;
    gpu.peer_links = facts.peer_links;
    for (std::size_t j = 0; j < survey.gpus.size(); ++j) {
      if (survey.distances[i][j] != "PIX") continue;
      gpu.pcie_switch = static_cast<int>(std::min(i, j));  // the first of those below it
      break;
    }
    gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace collbench

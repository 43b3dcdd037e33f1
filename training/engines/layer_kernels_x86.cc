// Which loops of the fast layers an x86 CPU can run.
#include "training/engines/layer_kernels.h"

namespace collbench {

std::vector<LayerKernels> usable_layer_kernels() {
  __builtin_cpu_init();
  std::vector<LayerKernels> tables{baseline_layer_kernels()};
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (avx2) tables.push_back(avx2_layer_kernels());
  if (avx2 && __builtin_cpu_supports("avx512f") != 0) tables.push_back(avx512_layer_kernels());
  return tables;
}

}  // namespace collbench

#include "training/engines/layer_kernels.h"

namespace collbench {

std::vector<LayerKernels> usable_layer_kernels() {
  std::vector<LayerKernels> tables{baseline_layer_kernels()};
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (avx2) tables.push_back(avx2_layer_kernels());
  if (avx2 && __builtin_cpu_supports("avx512f") != 0) tables.push_back(avx512_layer_kernels());
#endif
  return tables;
}

const LayerKernels& layer_kernels() {
  static const LayerKernels best = usable_layer_kernels().back();
  return best;
}

}  // namespace collbench

#include "training/engines/layer_kernels.h"

namespace collbench {

const LayerKernels& layer_kernels() {
  static const LayerKernels best = usable_layer_kernels().back();
  return best;
}

}  // namespace collbench

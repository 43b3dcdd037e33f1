// Which loops of the fast layers a CPU other than x86-64 can run.
#include "training/engines/layer_kernels.h"

namespace collbench {

std::vector<LayerKernels> usable_layer_kernels() { return {baseline_layer_kernels()}; }

}  // namespace collbench

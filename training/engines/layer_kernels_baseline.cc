// The loops of the fast layers for any CPU.
#include "training/engines/layer_kernels.h"

namespace collbench {
namespace {
constexpr int vector_bytes = 16;
constexpr int tile_rows = 4;
#include "training/engines/layer_kernels.inc"
}  // namespace

const LayerKernels& baseline_layer_kernels() { return table; }

}  // namespace collbench

// The loops of the fast layers for x86 CPUs with AVX2 and FMA.
#include "training/engines/layer_kernels.h"

namespace collbench {
namespace {
constexpr int vector_bytes = 32;
constexpr int tile_rows = 4;
#include "training/engines/layer_kernels.inc"
}  // namespace

const LayerKernels& avx2_layer_kernels() { return table; }

}  // namespace collbench

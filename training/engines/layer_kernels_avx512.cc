// The loops of the fast layers for x86 CPUs with AVX-512F.
#include "training/engines/layer_kernels.h"

namespace collbench {
namespace {
constexpr int vector_bytes = 64;
constexpr int tile_rows = 8;
#include "training/engines/layer_kernels.inc"
}  // namespace

const LayerKernels& avx512_layer_kernels() { return table; }

}  // namespace collbench

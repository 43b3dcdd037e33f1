// The loops of the fast layers for x86 CPUs with AVX-512F.
#include "training/layer_kernels.h"

namespace collbench {
namespace {
constexpr int vector_bytes = 64;
#include "training/layer_kernels.inc"
}  // namespace

const LayerKernels& avx512_layer_kernels() { return table; }

}  // namespace collbench

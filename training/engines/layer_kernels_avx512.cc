// The loops of the fast layers for x86 CPUs with AVX-512F.
#include "training/engines/layer_kernels.inc"

const collbench::LayerKernels& collbench::avx512_layer_kernels() { return table; }

// The loops of the fast layers for x86 CPUs with AVX2 and FMA.
#include "training/engines/layer_kernels.inc"

const collbench::LayerKernels& collbench::avx2_layer_kernels() { return table; }

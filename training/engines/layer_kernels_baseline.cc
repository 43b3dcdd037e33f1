// The loops of the fast layers for any CPU.
#include "training/engines/layer_kernels.inc"

const collbench::LayerKernels& collbench::baseline_layer_kernels() { return table; }

// The kernels for every CPU of the target's kind.
#include "transports/kernels/kernels_fold.inc"

const collbench::KernelTable* collbench::baseline_kernels() { return &kernel_table; }

// The kernels for x86 CPUs with AVX2 and F16C.
#include "transports/kernels/kernels_fold.inc"

const collbench::KernelTable* collbench::avx2_kernels() { return &kernel_table; }

// The kernels for x86 CPUs with AVX-512 F, BW, VL and DQ.
#include "transports/kernels/kernels_fold.inc"

const collbench::KernelTable* collbench::avx512_kernels() { return &kernel_table; }

// The kernels for x86 CPUs with AVX-512 F, BW, VL and DQ.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "transports/kernels/kernels_table.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace collbench {
namespace {
#include "transports/kernels/kernels_fold.inc"
}  // namespace

const KernelTable* avx512_kernels() { return &kernel_table; }

}  // namespace collbench

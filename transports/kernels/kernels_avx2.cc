// The kernels for x86 CPUs with AVX2 and F16C.
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

const KernelTable* avx2_kernels() { return &kernel_table; }

}  // namespace collbench

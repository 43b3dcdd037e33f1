// The kernels for every CPU of the target's kind.
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

const KernelTable* baseline_kernels() { return &kernel_table; }

}  // namespace collbench

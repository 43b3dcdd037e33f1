// The instruction sets compiled where the target is not x86-64: the baseline alone.
#include "transports/kernels/kernels_table.h"

namespace collbench {

KernelVariants kernel_variants() { return {{{"baseline", baseline_kernels(), true}}, 1}; }

}  // namespace collbench

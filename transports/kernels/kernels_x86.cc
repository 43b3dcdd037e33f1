// The instruction sets compiled for x86-64, and which of them this CPU and operating system offer.
#include <cpuid.h>

#include "transports/kernels/kernels_table.h"

namespace collbench {
namespace {

// Compilers differ in whether __builtin_cpu_supports knows F16C: CPUID leaf 1, ECX bit 29.
bool has_f16c() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1U << 29)) != 0;
}

}  // namespace

KernelVariants kernel_variants() {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && has_f16c();
  const bool avx512 =
      avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  return {{{"baseline", baseline_kernels(), true},
           {"avx2", avx2_kernels(), avx2},
           {"avx512", avx512_kernels(), avx512}},
          3};
}

}  // namespace collbench

#include "transports/kernels/kernels.h"

#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/environment_variable.h"
#include "core/error.h"
#include "transports/kernels/kernels_table.h"

namespace collbench {
namespace {

/// An instruction set that the kernels were compiled for.
struct KernelVariant {
  const char* name;
  const KernelTable* table;
};

#if defined(__x86_64__)
// Compilers differ in whether __builtin_cpu_supports knows F16C: CPUID leaf 1, ECX bit 29.
bool has_f16c() {
  unsigned int eax = 0;
  unsigned int ebx = 0;
  unsigned int ecx = 0;
  unsigned int edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1U << 29)) != 0;
}
#endif

/// Those that this CPU and operating system offer, the widest last.
const std::vector<KernelVariant>& usable() {
  static const std::vector<KernelVariant> all = [] {
    std::vector<KernelVariant> found{{"baseline", baseline_kernels()}};
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") != 0 && has_f16c();
    if (avx2) found.push_back({"avx2", avx2_kernels()});
    if (avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0) {
      found.push_back({"avx512", avx512_kernels()});
    }
#endif
    return found;
  }();
  return all;
}

/// The instruction set in use; a pointer into usable(), null until first wanted.
std::atomic<const KernelVariant*> current{nullptr};

const KernelVariant& find_usable(std::string_view name) {
  for (const KernelVariant& variant : usable()) {
    if (name == variant.name) return variant;
  }
  std::string names;
  for (const std::string_view each : usable_kernel_isas()) {
    names += (names.empty() ? "" : ", ") + std::string(each);
  }
  throw Unavailable("kernels: the instruction set '" + std::string(name) +
                    "' is not usable on this CPU; usable are " + names);
}

// Threads that race here choose the same.
const KernelVariant& choose() {
  const std::string wanted = environment_variable("COLLBENCH_ISA");
  const KernelVariant& chosen = wanted.empty() ? usable().back() : find_usable(wanted);
  current.store(&chosen, std::memory_order_release);
  return chosen;
}

const KernelVariant& in_use() {
  const KernelVariant* variant = current.load(std::memory_order_acquire);
  return variant != nullptr ? *variant : choose();
}

}  // namespace

void reduce(DataType type, Reduction reduction, std::span<const std::byte* const> sources,
            std::span<std::byte* const> destinations, std::int64_t count, Stores stores) {
  assert(!sources.empty() && !destinations.empty());
  assert(reduction.divisor >= 1);
  if (count <= 0) return;
  ReduceOp op = reduction.op == ReduceOp::avg ? ReduceOp::sum : reduction.op;
  if (sources.size() == 1 && reduction.divisor == 1) {
    if (destinations.size() == 1) {
      return copy(destinations[0], sources[0], count * size_of(type), stores);
    }
    count *= size_of(type);
    type = DataType::u8;
    op = ReduceOp::sum;
  }
  const FoldArguments arguments{sources.data(),
                                static_cast<int>(sources.size()),
                                destinations.data(),
                                static_cast<int>(destinations.size()),
                                count,
                                reduction.divisor,
                                stores == Stores::streaming};
  in_use().table->fold[static_cast<int>(type)][static_cast<int>(op)](arguments);
}

void divide(Region sums, Reduction reduction) {
  const std::byte* const source = sums.data;
  reduce(sums.type, reduction, {&source, 1}, {&sums.data, 1}, sums.count);
}

void copy(std::byte* destination, const std::byte* source, std::int64_t bytes, Stores stores) {
  if (bytes <= 0 || destination == source) return;
  if (stores == Stores::cached) {
    std::memcpy(destination, source, static_cast<std::size_t>(bytes));
    return;
  }
  const KernelTable& table = *in_use().table;
  table.stream(destination, source, bytes);
  table.fence();
}

std::string_view kernel_isa() { return in_use().name; }

std::vector<std::string_view> usable_kernel_isas() {
  std::vector<std::string_view> names;
  for (const KernelVariant& variant : usable()) names.emplace_back(variant.name);
  return names;
}

void set_kernel_isa(std::string_view isa) {
  current.store(&find_usable(isa), std::memory_order_release);
}

}  // namespace collbench

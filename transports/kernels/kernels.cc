#include "transports/kernels/kernels.h"

#include <atomic>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/environment_variable.h"
#include "core/error.h"
#include "transports/kernels/kernels_table.h"

namespace collbench {
namespace {

/// The instruction set in use; a pointer into variants(), null until first wanted.
std::atomic<const KernelVariant*> current{nullptr};

const KernelVariants& variants() {
  static const KernelVariants all = kernel_variants();
  return all;
}

const KernelVariant& find_usable(std::string_view name) {
  std::string usable;
  for (int i = 0; i < variants().count; ++i) {
    const KernelVariant& variant = variants().rows[i];
    if (!variant.usable) continue;
    if (name == variant.name) return variant;
    usable += (usable.empty() ? "" : ", ") + std::string(variant.name);
  }
  throw Unavailable("kernels: the instruction set '" + std::string(name) +
                    "' is not usable on this CPU; usable are " + usable);
}

const KernelVariant& widest_usable() {
  int best = 0;
  for (int i = 0; i < variants().count; ++i) {
    if (variants().rows[i].usable) best = i;
  }
  return variants().rows[best];
}

// Threads that race here choose the same.
const KernelVariant& choose() {
  const std::string wanted = environment_variable("COLLBENCH_ISA");
  const KernelVariant& chosen = wanted.empty() ? widest_usable() : find_usable(wanted);
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
  for (int i = 0; i < variants().count; ++i) {
    if (variants().rows[i].usable) names.emplace_back(variants().rows[i].name);
  }
  return names;
}

void set_kernel_isa(std::string_view isa) {
  current.store(&find_usable(isa), std::memory_order_release);
}

}  // namespace collbench

// The entry points that every instruction set's compilation of the kernels offers.
//
// Plain pointers and counts only: code compiled for a wider instruction set must not instantiate
// inline functions that the linker could then share with code meant for every CPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace collbench {

/// One call of reduce(), checked; see kernels.h for the meaning.
struct FoldArguments {
  const std::byte* const* sources;
  int source_count;
  std::byte* const* destinations;
  int destination_count;
  std::int64_t count;
  int divisor;
  bool streaming;
};

using FoldFunction = void (*)(const FoldArguments&);

/// fold is indexed by DataType and by ReduceOp, of which avg shares the row of sum.
struct KernelTable {
  FoldFunction fold[7][4];
  /// Copies with non-temporal stores, of any alignment; fence() must follow.
  void (*stream)(std::byte* destination, const std::byte* source, std::int64_t bytes);
  /// Orders non-temporal stores before later ordinary ones.
  void (*fence)();
};

const KernelTable* baseline_kernels();
const KernelTable* avx2_kernels();
const KernelTable* avx512_kernels();

}  // namespace collbench

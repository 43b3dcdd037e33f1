#include <algorithm>
#include <cstdint>
#include <string>

#include <cuda_runtime.h>

#include "core/error.h"
#include "transports/cuda/cuda_error.h"
#include "transports/cuda/device_fold.h"
#include "transports/cuda/reduce.h"

namespace collbench {
namespace {

constexpr int threads_per_block = 256;
constexpr int blocks_per_processor = 8;  // 2048 threads, all that one holds

struct ReduceArguments {
  const std::byte* from[cuda_reduce_most_sources];
  std::byte* to[cuda_reduce_most_destinations];
  int source_count;
  int destination_count;

  constexpr int sources() const { return source_count; }
  constexpr int destinations() const { return destination_count; }
  constexpr const std::byte* source(int s) const { return from[s]; }
  constexpr std::byte* destination(int d) const { return to[d]; }
};

// Strides over groups of lanes; the first threads take the elements that fill no group.
template <class Element, class Op, int lanes>
__global__ void __launch_bounds__(threads_per_block)
    fold_all(const __grid_constant__ ReduceArguments arrays, std::int64_t count,
             typename Element::Divisor divisor, bool divided) {
  const std::int64_t thread =
      static_cast<std::int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads_per_block;
  const std::int64_t groups = count / lanes;
  std::int64_t group = thread;
  // Two at a time: their loads are in flight together.
  for (; group + stride < groups; group += 2 * stride) {
    fold_groups<Element, Op, lanes, 2>(arrays, group * lanes, stride * lanes, divisor, divided);
  }
  if (group < groups)
    fold_groups<Element, Op, lanes, 1>(arrays, group * lanes, 0, divisor, divided);
  if (const std::int64_t rest = groups * lanes + thread; rest < count && thread < lanes) {
    fold_groups<Element, Op, 1, 1>(arrays, rest, 0, divisor, divided);
  }
}

void check(cudaError_t error, const char* call) {
  check_cuda(error, std::string("cuda_reduce: ") + call);
}

int most_blocks() {
  int device = 0;
  int processors = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  return processors * blocks_per_processor;
}

bool all_aligned(const ReduceArguments& arrays) {
  std::uintptr_t bits = 0;
  for (int s = 0; s < arrays.source_count; ++s) {
    bits |= reinterpret_cast<std::uintptr_t>(arrays.from[s]);
  }
  for (int d = 0; d < arrays.destination_count; ++d) {
    bits |= reinterpret_cast<std::uintptr_t>(arrays.to[d]);
  }
  return bits % device_group_bytes == 0;
}

// Gives the kernel for these arrays, with its grid and arguments, to `take`.
template <class Element, class Op, int lanes, class Take>
void with_kernel(ReduceArguments& arrays, std::int64_t count, int divisor, const Take& take) {
  const std::int64_t groups = (count + lanes - 1) / lanes;
  const std::int64_t wanted = (groups + threads_per_block - 1) / threads_per_block;
  typename Element::Divisor factor = Element::divisor(divisor);
  bool divided = divisor != 1;
  void* arguments[] = {&arrays, &count, &factor, &divided};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(fold_all<Element, Op, lanes>);
  kernel.gridDim = dim3(static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, most_blocks())));
  kernel.blockDim = dim3(threads_per_block);
  kernel.kernelParams = arguments;
  take(kernel);
}

template <class Take>
void with_kernel(DataType type, Reduction reduction, ReduceArguments& arrays, std::int64_t count,
                 const Take& take) {
  const bool aligned = all_aligned(arrays);
  visit_element(type, reduction.op, [&]<class Element, class Op>() {
    constexpr int lanes = device_group_bytes / sizeof(typename Element::Stored);
    if (aligned) {
      with_kernel<Element, Op, lanes>(arrays, count, reduction.divisor, take);
    } else {
      with_kernel<Element, Op, 1>(arrays, count, reduction.divisor, take);
    }
  });
}

ReduceArguments arrays_of(std::span<const std::byte* const> sources,
                          std::span<std::byte* const> destinations) {
  require(!sources.empty() && sources.size() <= cuda_reduce_most_sources,
          "cuda_reduce: 1 to " + std::to_string(cuda_reduce_most_sources) + " sources, not " +
              std::to_string(sources.size()));
  require(!destinations.empty() && destinations.size() <= cuda_reduce_most_destinations,
          "cuda_reduce: 1 to " + std::to_string(cuda_reduce_most_destinations) +
              " destinations, not " + std::to_string(destinations.size()));
  ReduceArguments arrays{};
  std::copy(sources.begin(), sources.end(), arrays.from);
  std::copy(destinations.begin(), destinations.end(), arrays.to);
  arrays.source_count = static_cast<int>(sources.size());
  arrays.destination_count = static_cast<int>(destinations.size());
  return arrays;
}

bool is_copy(std::span<const std::byte* const> sources, Reduction reduction) {
  return sources.size() == 1 && reduction.divisor == 1;
}

}  // namespace

void cuda_reduce(DataType type, Reduction reduction, std::span<const std::byte* const> sources,
                 std::span<std::byte* const> destinations, std::int64_t count,
                 CUstream_st* stream) {
  ReduceArguments arrays = arrays_of(sources, destinations);
  if (count <= 0) return;
  if (is_copy(sources, reduction)) {
    const auto bytes = static_cast<std::size_t>(count * size_of(type));
    for (std::byte* destination : destinations) {
      if (destination == sources[0]) continue;
      check(cudaMemcpyAsync(destination, sources[0], bytes, cudaMemcpyDefault, stream),
            "cudaMemcpyAsync");
    }
    return;
  }
  with_kernel(type, reduction, arrays, count, [&](const cudaKernelNodeParams& kernel) {
    check(cudaLaunchKernel(kernel.func, kernel.gridDim, kernel.blockDim, kernel.kernelParams, 0,
                           stream),
          "launching the kernel");
  });
}

std::vector<CUgraphNode_st*> add_cuda_reduce(CUgraph_st* graph,
                                             std::span<CUgraphNode_st* const> before, DataType type,
                                             Reduction reduction,
                                             std::span<const std::byte* const> sources,
                                             std::span<std::byte* const> destinations,
                                             std::int64_t count) {
  ReduceArguments arrays = arrays_of(sources, destinations);
  std::vector<CUgraphNode_st*> nodes;
  if (count <= 0) return nodes;
  cudaGraphNode_t node = nullptr;
  if (is_copy(sources, reduction)) {
    const auto bytes = static_cast<std::size_t>(count * size_of(type));
    for (std::byte* destination : destinations) {
      if (destination == sources[0]) continue;
      check(cudaGraphAddMemcpyNode1D(&node, graph, before.data(), before.size(), destination,
                                     sources[0], bytes, cudaMemcpyDefault),
            "cudaGraphAddMemcpyNode1D");
      nodes.push_back(node);
    }
    return nodes;
  }
  with_kernel(type, reduction, arrays, count, [&](const cudaKernelNodeParams& kernel) {
    check(cudaGraphAddKernelNode(&node, graph, before.data(), before.size(), &kernel),
          "cudaGraphAddKernelNode");
  });
  nodes.push_back(node);
  return nodes;
}

}  // namespace collbench

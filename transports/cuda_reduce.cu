#include <algorithm>
#include <cstdint>
#include <string>

#include <cuda_runtime.h>

#include "core/error.h"
#include "transports/cuda_elements.h"
#include "transports/cuda_reduce.h"

namespace collbench {
namespace {

constexpr int threads_per_block = 256;
constexpr int blocks_per_processor = 8;  // 2048 threads, all that one holds
constexpr std::int64_t vector_bytes = 16;

struct Arrays {
  const std::byte* sources[cuda_reduce_most_sources];
  std::byte* destinations[cuda_reduce_most_destinations];
  int source_count;
  int destination_count;
};

template <class Stored, int lanes>
struct alignas(lanes * sizeof(Stored)) Lanes {
  Stored at[lanes];
};

// One group of lanes. All loads precede the stores, so a destination may be a source.
template <class Element, class Op, int lanes>
__device__ void fold(const Arrays& arrays, std::int64_t first, typename Element::Divisor divisor,
                     bool divided) {
  using Group = Lanes<typename Element::Stored, lanes>;
  const std::int64_t offset = first * static_cast<std::int64_t>(sizeof(typename Element::Stored));
  const auto load = [&](int s) {
    return *reinterpret_cast<const Group*>(arrays.sources[s] + offset);
  };
  typename Element::Folded folded[lanes];
  const Group start = load(0);
  for (int i = 0; i < lanes; ++i) folded[i] = Element::widen(start.at[i]);
#pragma unroll 4
  for (int s = 1; s < arrays.source_count; ++s) {
    const Group next = load(s);
    for (int i = 0; i < lanes; ++i) {
      folded[i] = Op::template apply<Element>(folded[i], Element::widen(next.at[i]));
    }
  }
  Group result;
  for (int i = 0; i < lanes; ++i) {
    result.at[i] = Element::narrow(divided ? Element::divide(folded[i], divisor) : folded[i]);
  }
  for (int d = 0; d < arrays.destination_count; ++d) {
    *reinterpret_cast<Group*>(arrays.destinations[d] + offset) = result;
  }
}

// Strides over groups of lanes; the first threads take the elements that fill no group.
template <class Element, class Op, int lanes>
__global__ void __launch_bounds__(threads_per_block)
    fold_all(const __grid_constant__ Arrays arrays, std::int64_t count,
             typename Element::Divisor divisor, bool divided) {
  const std::int64_t thread =
      static_cast<std::int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads_per_block;
  const std::int64_t groups = count / lanes;
  for (std::int64_t group = thread; group < groups; group += stride) {
    fold<Element, Op, lanes>(arrays, group * lanes, divisor, divided);
  }
  if (const std::int64_t rest = groups * lanes + thread; rest < count && thread < lanes) {
    fold<Element, Op, 1>(arrays, rest, divisor, divided);
  }
}

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw TransportError(std::string("cuda_reduce: ") + call + " failed: " +
                       cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")");
}

int most_blocks() {
  int device = 0;
  int processors = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  return processors * blocks_per_processor;
}

bool all_aligned(const Arrays& arrays) {
  std::uintptr_t bits = 0;
  for (int s = 0; s < arrays.source_count; ++s) {
    bits |= reinterpret_cast<std::uintptr_t>(arrays.sources[s]);
  }
  for (int d = 0; d < arrays.destination_count; ++d) {
    bits |= reinterpret_cast<std::uintptr_t>(arrays.destinations[d]);
  }
  return bits % vector_bytes == 0;
}

template <class Element, class Op, int lanes>
void launch(const Arrays& arrays, std::int64_t count, int divisor, cudaStream_t stream) {
  const std::int64_t groups = (count + lanes - 1) / lanes;
  const std::int64_t wanted = (groups + threads_per_block - 1) / threads_per_block;
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, most_blocks()));
  fold_all<Element, Op, lanes><<<blocks, threads_per_block, 0, stream>>>(
      arrays, count, Element::divisor(divisor), divisor != 1);
  check(cudaGetLastError(), "launching the kernel");
}

Arrays arrays_of(std::span<const std::byte* const> sources,
                 std::span<std::byte* const> destinations) {
  require(!sources.empty() && sources.size() <= cuda_reduce_most_sources,
          "cuda_reduce: 1 to " + std::to_string(cuda_reduce_most_sources) + " sources, not " +
              std::to_string(sources.size()));
  require(!destinations.empty() && destinations.size() <= cuda_reduce_most_destinations,
          "cuda_reduce: 1 to " + std::to_string(cuda_reduce_most_destinations) +
              " destinations, not " + std::to_string(destinations.size()));
  Arrays arrays{};
  std::copy(sources.begin(), sources.end(), arrays.sources);
  std::copy(destinations.begin(), destinations.end(), arrays.destinations);
  arrays.source_count = static_cast<int>(sources.size());
  arrays.destination_count = static_cast<int>(destinations.size());
  return arrays;
}

}  // namespace

void cuda_reduce(DataType type, Reduction reduction, std::span<const std::byte* const> sources,
                 std::span<std::byte* const> destinations, std::int64_t count,
                 CUstream_st* stream) {
  const Arrays arrays = arrays_of(sources, destinations);
  if (count <= 0) return;
  if (sources.size() == 1 && reduction.divisor == 1) {
    const auto bytes = static_cast<std::size_t>(count * size_of(type));
    for (std::byte* destination : destinations) {
      if (destination == sources[0]) continue;
      check(cudaMemcpyAsync(destination, sources[0], bytes, cudaMemcpyDeviceToDevice, stream),
            "cudaMemcpyAsync");
    }
    return;
  }
  const bool aligned = all_aligned(arrays);
  visit_element(type, reduction.op, [&]<class Element, class Op>() {
    constexpr int lanes = vector_bytes / sizeof(typename Element::Stored);
    if (aligned) {
      launch<Element, Op, lanes>(arrays, count, reduction.divisor, stream);
    } else {
      launch<Element, Op, 1>(arrays, count, reduction.divisor, stream);
    }
  });
}

}  // namespace collbench

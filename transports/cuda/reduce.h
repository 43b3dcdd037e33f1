// The reduction of kernels.h on a GPU: N source arrays folded in one pass, stored to M places.
//
// The same left fold in the same order with the same roundings, so the result is bitwise that of
// the CPU. Reads and writes 16 bytes at a time where every array is aligned to 16 bytes, one
// element otherwise. Declared in every build, defined in those with the CUDA Toolkit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/data_type.h"
#include "transports/endpoint.h"

// What cudaStream_t, cudaGraph_t and cudaGraphNode_t point to.
struct CUstream_st;
struct CUgraph_st;
struct CUgraphNode_st;

namespace collbench {

/// The most arrays of one call: their addresses travel as arguments of the kernel, of which CUDA
/// allows 4 KiB.
constexpr int cuda_reduce_most_sources = 256;
constexpr int cuda_reduce_most_destinations = 128;

/// reduce() on the current device, enqueued on `stream` (null is the default one); returns at once.
/// All arrays must be readable from that device. Throws InvalidArgument for more arrays than fit,
/// TransportError with CUDA's words if it cannot be enqueued. Thread safety: as CUDA's streams.
void cuda_reduce(DataType type, Reduction reduction, std::span<const std::byte* const> sources,
                 std::span<std::byte* const> destinations, std::int64_t count, CUstream_st* stream);

/// The same as nodes of a graph, each after all of `before`: one kernel, or a copy for each
/// destination. Returns the nodes.
std::vector<CUgraphNode_st*> add_cuda_reduce(CUgraph_st* graph,
                                             std::span<CUgraphNode_st* const> before, DataType type,
                                             Reduction reduction,
                                             std::span<const std::byte* const> sources,
                                             std::span<std::byte* const> destinations,
                                             std::int64_t count);

}  // namespace collbench

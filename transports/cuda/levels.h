// One level of commands (device_levels.h) as one kernel of a CUDA graph.
//
// The same left folds in the same order with the same roundings as reduce() of kernels.h, so the
// results are bitwise those of the CPU. Reads and writes 16 bytes at a time where every array is
// aligned to 16 bytes, one element otherwise.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "transports/cuda/device_levels.h"

// What cudaGraph_t and cudaGraphNode_t point to.
struct CUgraph_st;
struct CUgraphNode_st;

namespace collbench {

/// The bases of all ranks' memories, by rank * device_places + place.
using DeviceBases = std::vector<std::byte*>;

/// Adds `level` to `graph`, for the current device and after all of `before`; `same_device`:
/// those are the device's, too. Throws TransportError with CUDA's words.
CUgraphNode_st* add_cuda_level(CUgraph_st* graph, std::span<CUgraphNode_st* const> before,
                               bool same_device, const DeviceCommands& commands,
                               const DeviceLevel& level, const DeviceBases& bases);

}  // namespace collbench

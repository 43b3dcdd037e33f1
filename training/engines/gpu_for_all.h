// A kernel of one function of an index. For CUDA's compiler only.
#pragma once

#include <algorithm>
#include <cstdint>

#include <cuda_runtime.h>

#include "transports/cuda/cuda_error.h"

namespace collbench {

constexpr int gpu_threads = 256;  // of a block

template <class Body>
__global__ void call_for_all(std::int64_t count, const Body body) {
  const std::int64_t stride = std::int64_t{gridDim.x} * gpu_threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * gpu_threads + threadIdx.x; i < count;
       i += stride) {
    body(i);
  }
}

/// Enqueues body(i) for every i below count, a thread for each and strides beyond the largest grid.
/// Throws TransportError with `name` and CUDA's words.
template <class Body>
void for_all(std::int64_t count, const char* name, CUstream_st* stream, const Body& body) {
  if (count <= 0) return;
  const auto blocks = std::clamp<std::int64_t>((count + gpu_threads - 1) / gpu_threads, 1, 65535);
  call_for_all<<<static_cast<unsigned>(blocks), gpu_threads, 0, stream>>>(count, body);
  check_cuda(cudaGetLastError(), name);
}

}  // namespace collbench

// Arrays of numbers on the device of the thread that makes them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/cuda/memory.h"

struct CUstream_st;  // what cudaStream_t points to

namespace collbench {

/// Zeroed. Throws Unavailable where there is no memory. Moves, but is not copied.
template <class T>
class GpuArray {
 public:
  GpuArray() = default;
  explicit GpuArray(std::int64_t count)
      : count_(count),
        memory_(allocate_on_cuda(current_cuda_device(),
                                 Bytes{count * static_cast<std::int64_t>(sizeof(T))})) {}
  GpuArray(GpuArray&&) noexcept = default;
  GpuArray& operator=(GpuArray&&) noexcept = default;
  GpuArray(const GpuArray&) = delete;
  GpuArray& operator=(const GpuArray&) = delete;
  ~GpuArray() = default;

  T* data() const { return reinterpret_cast<T*>(memory_.get()); }
  std::int64_t size() const { return count_; }

 private:
  std::int64_t count_ = 0;
  std::shared_ptr<std::byte> memory_;
};

/// Copies of all elements, once they are made.
std::vector<double> gpu_values(const GpuArray<float>& array);
void set_gpu_values(std::span<const double> from, const GpuArray<float>& to);

/// Enqueues a copy of `count` elements.
void gpu_copy(const float* from, float* to, std::int64_t count, CUstream_st* stream);

}  // namespace collbench

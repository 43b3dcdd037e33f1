// Convolutions and matrix products on a GPU: cuDNN's and cuBLAS's own.
//
// Both libraries are loaded at run time, libcudnn.so.9 and libcublas.so.13 (or .12), so that a
// program with this engine also starts where they are not. Everything is f32, deterministic, and
// enqueued on one stream. Matrix products are exact f32, convolutions may use TF32, as PyTorch's do
// by default; NVIDIA_TF32_OVERRIDE=0 in the environment forbids it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "training/engines/stage.h"

struct CUstream_st;  // what cudaStream_t points to

namespace collbench {

/// Why this machine cannot compute on GPUs: no device, or a library that is missing; empty if it
/// can.
std::string why_no_gpu_math();

/// A 3x3 convolution of a stage for one number of samples. Kernels are as cuDNN has them: filters,
/// places, input channels.
class GpuConvolution {
 public:
  virtual ~GpuConvolution() = default;
  virtual void forward(const float* in, const float* kernel, float* out) = 0;
  virtual void kernel_slope(const float* in, const float* slope, float* kernel_slope) = 0;
  virtual void in_slope(const float* slope, const float* kernel, float* in_slope) = 0;
};

/// Thread safety: one thread. Throws TransportError in the libraries' words.
class GpuMath {
 public:
  /// On the current device. Throws Unavailable as why_no_gpu_math() says. `largest_rows` is the
  /// most that column_sums() is given.
  GpuMath(CUstream_st* stream, std::int64_t largest_rows);
  ~GpuMath();
  GpuMath(const GpuMath&) = delete;
  GpuMath& operator=(const GpuMath&) = delete;

  CUstream_st* stream() const;

  /// out (m x n) = a (m x k) b (k x n), row-major; a factor may lie transposed.
  struct Factor {
    const float* data = nullptr;
    bool transposed = false;
  };
  void product(Factor a, Factor b, float* out, std::int64_t m, std::int64_t n, std::int64_t k);
  /// out[c] = the sum of in[r][c] over the rows.
  void column_sums(const float* in, float* out, std::int64_t rows, std::int64_t columns);

  /// Whose gradients of kernels are enqueued with `beside`. Both must outlive it.
  std::unique_ptr<GpuConvolution> convolution(const Stage& stage, std::int64_t samples,
                                              GpuMath& beside);

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace collbench

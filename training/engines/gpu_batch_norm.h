// Batch normalisation on a GPU, of values that lie as in gpu_kernels.h: a sum over all samples and
// places for each channel, then a pass over all values.
//
// Kernels of our own because cuDNN's turn such values around and take 430 us where these take some
// (results/gpu-h200-2026-11-26). Every function enqueues on `stream` of the current device and
// returns at once. Sums are in f64 and in a fixed order: the same inputs give the same bits.
#pragma once

#include <cstdint>

#include "training/engines/gpu_array.h"

namespace collbench {

/// What a layer's forward pass leaves for its backward pass, and the memory of its sums.
struct GpuBatchNormState {
  explicit GpuBatchNormState(std::int64_t channels);
  std::int64_t channels;
  GpuArray<float> means;
  GpuArray<float> inverses;  // of standard deviations
  GpuArray<float> slopes;    // of this batch: of shifts, then of factors
  GpuArray<double> sums;     // of blocks
  GpuArray<unsigned> arrived;
};

/// out = (in - mean) / deviation * factor + shift, for `rows` times `channels` values. Parameters
/// are shifts, then factors; statistics are moving means, then variances, which training moves and
/// inference uses.
void gpu_batch_norm(const GpuBatchNormState& state, bool training, const float* in, float* out,
                    std::int64_t rows, const float* parameters, float* statistics,
                    CUstream_st* stream);

/// After a forward pass in training: the gradients of the parameters.
void gpu_batch_norm_parameter_slopes(const GpuBatchNormState& state, const float* in,
                                     const float* slope, std::int64_t rows, float* gradients,
                                     CUstream_st* stream);
/// After that: the gradient of the input.
void gpu_batch_norm_in_slope(const GpuBatchNormState& state, const float* in, const float* slope,
                             float* in_slope, std::int64_t rows, const float* parameters,
                             CUstream_st* stream);

}  // namespace collbench

// Batch normalisation on a GPU, of values that lie as in gpu_kernels.h: a sum over all samples and
// places for each channel, then a pass over all values, with the shortcut and the ReLU of the
// stage.
//
// Kernels of our own because cuDNN's turn such values around and take 430 us where these take some
// (results/gpu-h200-2026-11-26). Every function enqueues on `stream` of the current device and
// returns at once. Sums are in f64 and in a fixed order: the same inputs give the same bits.
#pragma once

#include <cstdint>

#include "training/engines/gpu_array.h"
#include "training/engines/stage.h"

namespace collbench {

/// What a layer's forward pass leaves for its backward pass, and the memory of its sums.
class GpuBatchNorm {
 public:
  /// `parameters` and `gradients` are shifts, then factors; `statistics` are moving means, then
  /// variances, which training moves and inference uses.
  GpuBatchNorm(const Stage& stage, const float* parameters, float* gradients, float* statistics,
               CUstream_st* stream);

  /// out = (in - mean) / deviation * factor + shift, plus the shortcut if the stage has one, at
  /// least 0 if it has a ReLU.
  void forward(bool training, const float* in, const float* shortcut, float* out,
               std::int64_t samples);
  /// After a forward pass in training: the gradients of the parameters. `slope` becomes that of
  /// what the ReLU was applied to.
  void parameter_slopes(const float* in, const float* out, float* slope, std::int64_t samples);
  /// After that: the gradient of the input.
  void in_slope(const float* in, const float* slope, float* in_slope, std::int64_t samples);

 private:
  std::int64_t rows(std::int64_t samples) const;
  template <class Term, class Finish>
  void enqueue_sums(std::int64_t columns, std::int64_t rows, const char* name, const Term& term,
                    const Finish& finish) const;

  Stage stage_;
  std::int64_t channels_;
  const float* parameters_;
  float* gradients_;
  float* statistics_;
  CUstream_st* stream_;
  GpuArray<float> of_channels_;  // some numbers for each
  GpuArray<double> sums_;        // of blocks
  GpuArray<unsigned> arrived_;
};

}  // namespace collbench

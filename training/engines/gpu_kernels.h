// What the engine on GPUs computes with kernels of its own: all that cuDNN and cuBLAS do not, or
// not as a Model says. Values lie as there: sample, height, width, channels, f32.
//
// Every function enqueues on `stream` of the current device and returns at once; pointers are the
// device's. The same inputs give the same bits. Throws TransportError in CUDA's words.
#pragma once

#include <cstdint>

#include "training/engines/flat_optimizer.h"
#include "training/engines/gpu_array.h"
#include "training/model.h"

struct CUstream_st;  // what cudaStream_t points to

namespace collbench {

/// out = max(in, 0), and the gradient: in_slope, which may be slope, = slope where out > 0.
void gpu_relu(const float* in, float* out, std::int64_t count, CUstream_st* stream);
void gpu_relu_slope(const float* out, const float* slope, float* in_slope, std::int64_t count,
                    CUstream_st* stream);

/// Adds `bias`, of `columns`, to each of `count` rows; with `relu` results are at least 0.
void gpu_add_bias(float* rows, const float* bias, bool relu, std::int64_t count,
                  std::int64_t columns, CUstream_st* stream);

/// Where the kernel of a convolution, `depth` rows of `units`, begins among the parameters, and
/// where it is to begin transposed.
struct TurnedKernel {
  std::int64_t first = 0;
  std::int64_t to = 0;
  std::int64_t depth = 0;
  int units = 0;
};
/// Transposes all kernels; ascending in `to`, of which the last ends before `end`.
void gpu_turn_kernels(const float* parameters, float* turned, const GpuArray<TurnedKernel>& kernels,
                      std::int64_t end, CUstream_st* stream);
/// out (columns x rows) = in (rows x columns), row-major.
void gpu_transpose(const float* in, float* out, std::int64_t rows, std::int64_t columns,
                   CUstream_st* stream);
/// to += from.
void gpu_add(const float* from, float* to, std::int64_t count, CUstream_st* stream);

/// Windows of 2x2 of an input of this shape; of equal values the first, line by line, wins. With
/// `relu` results are at least 0.
void gpu_max_pool(const float* in, float* out, bool relu, const SampleShape& shape,
                  std::int64_t samples, CUstream_st* stream);
void gpu_max_pool_slope(const float* in, bool relu, const float* slope, float* in_slope,
                        const SampleShape& shape, std::int64_t samples, CUstream_st* stream);
void gpu_global_average(const float* in, float* out, const SampleShape& shape, std::int64_t samples,
                        CUstream_st* stream);
void gpu_global_average_slope(const float* slope, float* in_slope, const SampleShape& shape,
                              std::int64_t samples, CUstream_st* stream);

/// out = in + shortcut, as LayerKind::add says, and the gradient of the shortcut's source.
void gpu_add_shortcut(const float* in, const float* shortcut, float* out, const SampleShape& shape,
                      const SampleShape& source, std::int64_t samples, CUstream_st* stream);
void gpu_shortcut_slope(const float* slope, float* source_slope, const SampleShape& shape,
                        const SampleShape& source, std::int64_t samples, CUstream_st* stream);

/// Turns scores into probabilities in place; a loss and whether it was right for each sample.
void gpu_softmax(float* scores, const int* labels, float* losses, int* correct,
                 std::int64_t samples, std::int64_t classes, CUstream_st* stream);
/// The gradient of *scale times the summed loss, in place of the probabilities.
void gpu_softmax_slope(float* probabilities, const int* labels, const float* scale,
                       std::int64_t samples, std::int64_t classes, CUstream_st* stream);

/// One update; `velocity` may be null where momentum is 0.
void gpu_sgd(float rate, float momentum, const float* slope, float* velocity, float* weights,
             std::int64_t count, CUstream_st* stream);
void gpu_adam(const AdamRates<float>& rates, const float* slope, float* mean, float* square,
              float* weights, std::int64_t count, CUstream_st* stream);

/// Sets *hash to a sum of numbers made of each element's place and bits. The bits of words: f32.
void gpu_hash(const float* values, std::int64_t count, unsigned long long* hash,
              CUstream_st* stream);

}  // namespace collbench

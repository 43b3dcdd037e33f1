// The inner loops of engines on the CPU, compiled for several instruction sets of which the CPU
// decides: in f32 pooling, batch normalisation, ReLU and Adam's update, and the matrix product.
//
// Rows are pixels of all samples, one after the other; a row has one value for each channel.
#pragma once

#include <cstdint>
#include <vector>

#include "training/engines/flat_optimizer.h"
#include "training/engines/matrix_product.h"

namespace collbench {

/// Images of max_pool2x2 and the loops over them.
struct PoolShape {
  std::int64_t samples = 0;
  std::int64_t height = 0;  // of the input
  std::int64_t width = 0;
  std::int64_t channels = 0;
};

struct LayerKernels {
  /// values = max(values, 0).
  void (*relu)(float* values, std::int64_t count);
  /// slope = 0 where out is not above 0.
  void (*mask)(const float* out, float* slope, std::int64_t count);
  /// to += from.
  void (*add)(const float* from, float* to, std::int64_t count);
  /// sums[c] = the sum of column c.
  void (*sum_rows)(const float* values, float* sums, std::int64_t rows, std::int64_t columns);

  /// With ReLU on the outcome if `relu`. winners[i] is which of its four inputs out[i] came from,
  /// or 4 where ReLU made it 0.
  void (*pool)(const float* in, float* out, std::int32_t* winners, const PoolShape& shape,
               bool relu);
  void (*pool_slope)(const std::int32_t* winners, const float* slope, float* in_slope,
                     const PoolShape& shape);

  /// sums[c] and sums[channels + c]: of in - shift, and of its squares.
  void (*moments)(const float* in, const float* shift, double* sums, std::int64_t rows,
                  std::int64_t channels);
  /// out = in factor + offset (+ shortcut unless it is null), with ReLU if `relu`.
  void (*normalise)(const float* in, const float* factor, const float* offset,
                    const float* shortcut, float* out, std::int64_t rows, std::int64_t channels,
                    bool relu);
  /// Sets slope to 0 where out is not above 0 (unless out is null); then sums[c] is the sum of
  /// slope, and sums[channels + c] that of slope (in - mean).
  void (*slope_moments)(const float* in, const float* mean, const float* out, float* slope,
                        double* sums, std::int64_t rows, std::int64_t channels);
  /// in_slope = slope a + in b + c.
  void (*normalise_slope)(const float* in, const float* slope, const float* a, const float* b,
                          const float* c, float* in_slope, std::int64_t rows,
                          std::int64_t channels);

  /// The update of optimizer.h. The arrays do not overlap. Each value has the same bits wherever it
  /// stands, so that ranks which update shares of a vector agree with one that updates all of it.
  void (*adam)(const AdamRates<float>& rates, const float* slope, float* mean, float* square,
               float* weights, std::int64_t count);

  /// add_product() of matrix_product.h.
  void (*product_f32)(Factor<float> a, const float* b, float* c, std::int64_t rows,
                      std::int64_t columns, std::int64_t depth);
  void (*product_f64)(Factor<double> a, const double* b, double* c, std::int64_t rows,
                      std::int64_t columns, std::int64_t depth);
};

/// Those that this CPU can run, the best last, and never none.
std::vector<LayerKernels> usable_layer_kernels();
/// The best of them.
const LayerKernels& layer_kernels();

const LayerKernels& baseline_layer_kernels();
/// May be called where the CPU has AVX2 and FMA, and AVX-512F too. Only on x86-64.
const LayerKernels& avx2_layer_kernels();
const LayerKernels& avx512_layer_kernels();

}  // namespace collbench

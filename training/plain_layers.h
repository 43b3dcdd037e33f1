// The layers of the plain engine, forward and backward, as loops over host memory.
//
// The backward pass is in two parts, so that a layer's gradients are ready before the gradient of
// its input is computed: communication starts that much earlier.
#pragma once

#include <cstdint>
#include <memory>

#include "training/engine.h"
#include "training/model.h"

namespace collbench {

/// Where a layer's parameters and their gradients lie: first the bias, then the kernel, row-major
/// with one row for each input (dense), or for each of 3x3 places and input channels (conv3x3).
template <class T>
struct LayerMemory {
  T* parameters = nullptr;  // null for a layer without any
  T* gradients = nullptr;
};

/// `n` is the number of samples. Inputs and outputs of a pass must not overlap; the backward pass
/// takes what the last forward pass took and gave. Thread safety: one thread.
template <class T>
class PlainLayer {
 public:
  virtual ~PlainLayer() = default;
  virtual void forward(const T* in, T* out, std::int64_t n) = 0;
  /// Overwrites the gradients of the layer's parameters.
  virtual void backward_parameters(const T* in, const T* out_slope, std::int64_t n) = 0;
  /// Writes the gradient of the loss with respect to `in`.
  virtual void backward_data(const T* in, const T* out, const T* out_slope, T* in_slope,
                             std::int64_t n) = 0;
};

/// The layer for inputs of shape `in`; flatten has none, because it moves nothing. T is float or
/// double.
template <class T>
std::unique_ptr<PlainLayer<T>> make_plain_layer(const LayerSpec& spec, const SampleShape& in,
                                                LayerMemory<T> memory);

/// Softmax and sparse categorical cross-entropy of `n` rows of `classes` scores: turns the scores
/// into probabilities in place.
template <class T>
Score softmax_cross_entropy(T* scores, std::span<const int> labels, std::int64_t classes);
/// The gradient of `scale` times the summed loss with respect to the scores, in place of the
/// probabilities.
template <class T>
void softmax_cross_entropy_slope(T* probabilities, std::span<const int> labels,
                                 std::int64_t classes, double scale);

}  // namespace collbench

// The layers of an engine that computes on the CPU: one object for each stage of a model.
//
// Values lie as a Model says: sample, height, width, channels. The backward pass is in two parts,
// so that a layer's gradients are ready before the gradient of its input is computed: communication
// starts that much earlier.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "training/engines/engine.h"
#include "training/engines/stage.h"

namespace collbench {

/// Where a layer's parameters and their gradients lie: first the bias, then the kernel, row-major
/// with one row for each input (dense), or for each of 3x3 places and input channels (conv3x3);
/// for batch_norm the shifts, then the factors. Null for a layer without any.
template <class T>
struct LayerMemory {
  T* parameters = nullptr;
  T* gradients = nullptr;
  T* statistics = nullptr;  // of batch_norm: the moving means, then the moving variances
};

/// Keras's defaults: what a moving average keeps at each batch, and what is added to a variance.
/// The variance that moves is that of a sample, divided by one less than the number of values.
inline constexpr double batch_norm_keep = 0.99;
inline constexpr double batch_norm_epsilon = 0.001;

/// A moving average after one more batch.
template <class T>
constexpr void move_batch_norm_average(T& average, double batch) {
  average = static_cast<T>(batch_norm_keep * static_cast<double>(average) +
                           (1 - batch_norm_keep) * batch);
}

/// The values that a layer works on. They do not overlap.
template <class T>
struct LayerPass {
  std::int64_t samples = 0;
  const T* in = nullptr;
  T* out = nullptr;
  const T* shortcut = nullptr;  // of a stage with a shortcut
  bool training = true;         // false: batch_norm uses and keeps its moving statistics
};

/// A backward pass takes what the last forward pass took and gave. Thread safety: one thread.
template <class T>
class Layer {
 public:
  virtual ~Layer() = default;
  virtual void forward(const LayerPass<T>& pass) = 0;
  /// `slope` is the gradient of the loss with respect to `out`, and becomes that with respect to
  /// what the stage's ReLU was applied to. Overwrites the gradients of the layer's parameters; does
  /// nothing where there are none.
  virtual void backward_parameters(const LayerPass<T>& /*pass*/, T* /*slope*/) {}
  /// Writes the gradient of the loss with respect to `in`.
  virtual void backward_data(const LayerPass<T>& pass, const T* slope, T* in_slope) = 0;
};

template <class T>
using LayerMaker = std::function<std::unique_ptr<Layer<T>>(const Stage&, LayerMemory<T>)>;

/// A network of such layers, for batches of up to `samples`. T is float or double. Throws
/// InvalidArgument as shapes_of() does.
template <class T>
std::unique_ptr<Network> make_layered_network(const Model& model, std::int64_t samples, bool fused,
                                              const LayerMaker<T>& make_layer);

}  // namespace collbench

// Optimizers as TensorFlow's Keras defines them, over the flat vector of a model.
//
//   sgd   v = momentum v - rate g;  w = w + v
//   adam  m += (g - m)(1 - 0.9);  s += (g^2 - s)(1 - 0.999);
//         w -= rate sqrt(1 - 0.999^t) / (1 - 0.9^t)  m / (sqrt(s) + 1e-7)     at update t = 1, 2,
//         ..
//
// An update is element-wise and the same on every replica, so replicas that hold equal bits before
// it hold equal bits after it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/data_type.h"
#include "transports/endpoint.h"

namespace collbench {

struct OptimizerSpec {
  std::string name = "sgd";  // or "adam"
  double learning_rate = 0.01;
  double momentum = 0;  // of sgd
};

/// Throws InvalidArgument for an unknown name, a rate that is not above 0, a momentum outside
/// [0, 1), or a momentum given to adam.
void check(const OptimizerSpec& spec);

/// Thread safety: one thread.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Both regions hold the count and type that the optimizer was made for.
  virtual void update(Region parameters, Region gradients) = 0;
};

/// One for host memory and f32 or f64. Throws as check() does, and Unavailable for another type.
std::unique_ptr<Optimizer> make_host_optimizer(const OptimizerSpec& spec, std::int64_t count,
                                               DataType type);

}  // namespace collbench

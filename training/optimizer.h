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
#include <vector>

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

/// The state of an optimizer between updates, exact for f32 and f64, so that a checkpoint resumes
/// training bit by bit.
struct OptimizerState {
  std::int64_t updates = 0;
  std::vector<std::vector<double>> slots;  // as slot_names(); each as long as the parameters
};

/// Thread safety: one thread.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Both regions must have the count and type that the optimizer was made for.
  virtual void update(Region parameters, Region gradients) = 0;
  virtual OptimizerState state() const = 0;
  /// Requires the state of an optimizer of the same specification and count.
  virtual void set_state(const OptimizerState& state) = 0;
  /// The memory of that state.
  virtual Bytes memory() const = 0;
};

/// "momentum" for sgd with momentum, "m" and "v" for adam; none for plain sgd.
std::vector<std::string> slot_names(const OptimizerSpec& spec);

/// One for host memory and f32 or f64. Throws as check() does, and Unavailable for another type.
std::unique_ptr<Optimizer> make_host_optimizer(const OptimizerSpec& spec, std::int64_t count,
                                               DataType type);

}  // namespace collbench

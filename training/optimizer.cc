#include "training/optimizer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"
#include "training/engines/aligned_array.h"
#include "training/engines/flat_optimizer.h"
#include "training/engines/layer_kernels.h"

namespace collbench {
namespace {

template <class T>
struct HostMemory {
  using Element = T;
  using Array = AlignedArray<T>;

  static void sgd(T rate, T momentum, const T* __restrict slope, T* __restrict velocity,
                  T* __restrict weights, std::int64_t count) {
    if (velocity == nullptr) {
      for (std::int64_t i = 0; i < count; ++i) weights[i] -= rate * slope[i];
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      velocity[i] = momentum * velocity[i] - rate * slope[i];
      weights[i] += velocity[i];
    }
  }
  static void adam(const AdamRates<T>& rates, const T* __restrict slope, T* __restrict mean,
                   T* __restrict square, T* __restrict weights, std::int64_t count) {
    if constexpr (std::is_same_v<T, float>) {
      layer_kernels().adam(rates, slope, mean, square, weights, count);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      mean[i] += (slope[i] - mean[i]) * rates.mean_share;
      square[i] += (slope[i] * slope[i] - square[i]) * rates.square_share;
      weights[i] -= rates.step * mean[i] / (std::sqrt(square[i]) + rates.epsilon);
    }
  }
  static std::vector<double> values(const Array& array) { return {array.begin(), array.end()}; }
  static void restore(const std::vector<double>& from, Array& to) {
    assert(std::ssize(from) == to.size());
    std::transform(from.begin(), from.end(), to.begin(),
                   [](double value) { return static_cast<T>(value); });
  }
};

}  // namespace

void check(const OptimizerSpec& spec) {
  const bool adam = spec.name == "adam";
  index_of("optimizer", spec.name, std::vector<std::string>{"sgd", "adam"});
  require(std::isfinite(spec.learning_rate) && spec.learning_rate > 0,
          fmt::format("a learning rate is above 0, not {}", spec.learning_rate));
  require(spec.momentum >= 0 && spec.momentum < 1,
          fmt::format("a momentum is at least 0 and below 1, not {}", spec.momentum));
  require(!adam || spec.momentum == 0, "adam takes no momentum: it has its own");
}

std::vector<std::string> slot_names(const OptimizerSpec& spec) {
  if (spec.name == "adam") return {"m", "v"};
  if (spec.momentum == 0) return {};
  return {"momentum"};
}

std::unique_ptr<Optimizer> make_host_optimizer(const OptimizerSpec& spec, std::int64_t count,
                                               DataType type) {
  check(spec);
  if (type == DataType::f32) return std::make_unique<FlatOptimizer<HostMemory<float>>>(spec, count);
  if (type == DataType::f64)
    return std::make_unique<FlatOptimizer<HostMemory<double>>>(spec, count);
  throw Unavailable(fmt::format("training is in f32 or f64, not {}", to_string(type)));
}

}  // namespace collbench

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
#include "training/engines/layer_kernels.h"

namespace collbench {
namespace {

template <class T>
T* state_elements(Region region) {
  return reinterpret_cast<T*>(region.data);
}

/// Any array of elements, exactly.
template <class Array>
std::vector<double> exact(const Array& values) {
  return {values.data(), values.data() + values.size()};
}

template <class Array>
void restore(const std::vector<double>& from, Array& to) {
  assert(std::ssize(from) == static_cast<std::ptrdiff_t>(to.size()));
  using T = std::decay_t<decltype(*to.data())>;
  std::transform(from.begin(), from.end(), to.data(),
                 [](double value) { return static_cast<T>(value); });
}

template <class T>
class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerSpec& spec, std::int64_t count)
      : rate_(static_cast<T>(spec.learning_rate)),
        momentum_(static_cast<T>(spec.momentum)),
        velocity_(spec.momentum == 0 ? 0 : count) {}

  void update(Region parameters, Region gradients) override {
    T* __restrict weights = state_elements<T>(parameters);
    const T* __restrict slope = state_elements<T>(gradients);
    if (velocity_.size() == 0) {
      for (std::int64_t i = 0; i < parameters.count; ++i) weights[i] -= rate_ * slope[i];
      return;
    }
    T* __restrict velocity = velocity_.data();
    for (std::int64_t i = 0; i < parameters.count; ++i) {
      velocity[i] = momentum_ * velocity[i] - rate_ * slope[i];
      weights[i] += velocity[i];
    }
  }

  OptimizerState state() const override {
    if (velocity_.size() == 0) return {};
    return {0, {exact(velocity_)}};
  }
  void set_state(const OptimizerState& state) override {
    if (velocity_.size() != 0) restore(state.slots.at(0), velocity_);
  }

 private:
  T rate_;
  T momentum_;
  AlignedArray<T> velocity_;  // empty without momentum
};

template <class T>
class Adam final : public Optimizer {
 public:
  Adam(const OptimizerSpec& spec, std::int64_t count)
      : learning_rate_(spec.learning_rate), mean_(count), square_(count) {}

  void update(Region parameters, Region gradients) override {
    ++updates_;
    const double corrected =
        learning_rate_ * std::sqrt(1 - std::pow(beta2, updates_)) / (1 - std::pow(beta1, updates_));
    if constexpr (std::is_same_v<T, float>) {
      const AdamRates rates{static_cast<float>(corrected), static_cast<float>(1 - beta1),
                            static_cast<float>(1 - beta2), static_cast<float>(epsilon)};
      layer_kernels().adam(rates, state_elements<T>(gradients), mean_.data(), square_.data(),
                           state_elements<T>(parameters), parameters.count);
      return;
    }
    const T rate = static_cast<T>(corrected);
    const T share1 = static_cast<T>(1 - beta1);
    const T share2 = static_cast<T>(1 - beta2);
    T* __restrict weights = state_elements<T>(parameters);
    const T* __restrict slope = state_elements<T>(gradients);
    T* __restrict mean = mean_.data();
    T* __restrict square = square_.data();
    for (std::int64_t i = 0; i < parameters.count; ++i) {
      mean[i] += (slope[i] - mean[i]) * share1;
      square[i] += (slope[i] * slope[i] - square[i]) * share2;
      weights[i] -= rate * mean[i] / (std::sqrt(square[i]) + static_cast<T>(epsilon));
    }
  }

  OptimizerState state() const override { return {updates_, {exact(mean_), exact(square_)}}; }
  void set_state(const OptimizerState& state) override {
    updates_ = state.updates;
    restore(state.slots.at(0), mean_);
    restore(state.slots.at(1), square_);
  }

 private:
  static constexpr double beta1 = 0.9;
  static constexpr double beta2 = 0.999;
  static constexpr double epsilon = 1e-7;
  double learning_rate_;
  std::int64_t updates_ = 0;
  AlignedArray<T> mean_;
  AlignedArray<T> square_;
};

template <class T>
std::unique_ptr<Optimizer> make(const OptimizerSpec& spec, std::int64_t count) {
  if (spec.name == "adam") return std::make_unique<Adam<T>>(spec, count);
  return std::make_unique<Sgd<T>>(spec, count);
}

}  // namespace

void check(const OptimizerSpec& spec) {
  const bool adam = spec.name == "adam";
  require(adam || spec.name == "sgd",
          fmt::format("unknown optimizer '{}'.{} Optimizers: sgd, adam", spec.name,
                      did_you_mean(spec.name, {"sgd", "adam"})));
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
  if (type == DataType::f32) return make<float>(spec, count);
  if (type == DataType::f64) return make<double>(spec, count);
  throw Unavailable(fmt::format("training is in f32 or f64, not {}", to_string(type)));
}

}  // namespace collbench

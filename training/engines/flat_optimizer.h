// The optimizers of optimizer.h over flat vectors, wherever an engine keeps them.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "training/optimizer.h"

namespace collbench {

/// The rates of one update of Adam; `step` is the learning rate with the corrections of this
/// update.
template <class T>
struct AdamRates {
  T step{0};
  T mean_share{0};  // of a new value in the mean: 1 - 0.9
  T square_share{0};
  T epsilon{0};
};

/// The rates of update 1, 2, ...
template <class T>
AdamRates<T> adam_rates(double learning_rate, std::int64_t update) {
  constexpr double beta1 = 0.9;
  constexpr double beta2 = 0.999;
  constexpr double epsilon = 1e-7;
  const auto t = static_cast<double>(update);
  const double step = learning_rate * std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t));
  return {static_cast<T>(step), static_cast<T>(1 - beta1), static_cast<T>(1 - beta2),
          static_cast<T>(epsilon)};
}

/// `Memory` has the element type, an array of it that is 0 at first, sgd() and adam() on such
/// memory, and values() and restore() of an array.
template <class Memory>
class FlatOptimizer final : public Optimizer {
 public:
  FlatOptimizer(const OptimizerSpec& spec, std::int64_t count) : spec_(spec) {
    for (std::size_t i = 0; i < slot_names(spec).size(); ++i) slots_.emplace_back(count);
  }

  void update(Region parameters, Region gradients) override {
    auto* weights = reinterpret_cast<Element*>(parameters.data);
    const auto* slope = reinterpret_cast<const Element*>(gradients.data);
    if (spec_.name == "adam") {
      Memory::adam(adam_rates<Element>(spec_.learning_rate, ++updates_), slope, slots_[0].data(),
                   slots_[1].data(), weights, parameters.count);
    } else {
      Memory::sgd(static_cast<Element>(spec_.learning_rate), static_cast<Element>(spec_.momentum),
                  slope, slots_.empty() ? nullptr : slots_[0].data(), weights, parameters.count);
    }
  }
  OptimizerState state() const override {
    OptimizerState all{updates_, {}};
    for (const Array& slot : slots_) all.slots.push_back(Memory::values(slot));
    return all;
  }
  void set_state(const OptimizerState& state) override {
    updates_ = state.updates;
    for (std::size_t i = 0; i < slots_.size(); ++i) Memory::restore(state.slots.at(i), slots_[i]);
  }
  Bytes memory() const override {
    Bytes sum;
    for (const Array& slot : slots_) sum = sum + Bytes{sizeof(Element)} * slot.size();
    return sum;
  }

 private:
  using Element = typename Memory::Element;
  using Array = typename Memory::Array;
  OptimizerSpec spec_;
  std::int64_t updates_ = 0;  // of adam
  std::vector<Array> slots_;  // as slot_names()
};

}  // namespace collbench

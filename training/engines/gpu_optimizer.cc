#include "training/engines/gpu_optimizer.h"

#include <cmath>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "training/engines/gpu_array.h"
#include "training/engines/gpu_kernels.h"
#include "transports/cuda/cuda_error.h"

namespace collbench {
namespace {

// As optimizer.cc has them.
constexpr double beta1 = 0.9;
constexpr double beta2 = 0.999;
constexpr double epsilon = 1e-7;

const float* slope_of(Region gradients) { return reinterpret_cast<const float*>(gradients.data); }
float* weights_of(Region parameters) { return reinterpret_cast<float*>(parameters.data); }

void finish() { check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "the optimizer"); }

std::vector<double> values_of(const GpuArray<float>& array) {
  std::vector<float> values(static_cast<std::size_t>(array.size()));
  copy_with_cuda(reinterpret_cast<std::byte*>(values.data()),
                 reinterpret_cast<const std::byte*>(array.data()),
                 Bytes{array.size() * static_cast<std::int64_t>(sizeof(float))});
  return {values.begin(), values.end()};
}

void restore(const std::vector<double>& from, const GpuArray<float>& to) {
  const std::vector<float> values(from.begin(), from.end());
  copy_with_cuda(reinterpret_cast<std::byte*>(to.data()),
                 reinterpret_cast<const std::byte*>(values.data()),
                 Bytes{to.size() * static_cast<std::int64_t>(sizeof(float))});
}

class GpuSgd final : public Optimizer {
 public:
  GpuSgd(const OptimizerSpec& spec, std::int64_t count)
      : rate_(static_cast<float>(spec.learning_rate)),
        momentum_(static_cast<float>(spec.momentum)) {
    if (spec.momentum != 0) velocity_ = GpuArray<float>(count);
  }
  void update(Region parameters, Region gradients) override {
    gpu_sgd(rate_, momentum_, slope_of(gradients), velocity_.data(), weights_of(parameters),
            parameters.count, cudaStreamPerThread);
    finish();
  }
  OptimizerState state() const override {
    if (velocity_.size() == 0) return {};
    return {0, {values_of(velocity_)}};
  }
  void set_state(const OptimizerState& state) override {
    if (velocity_.size() != 0) restore(state.slots.at(0), velocity_);
  }

 private:
  float rate_;
  float momentum_;
  GpuArray<float> velocity_;  // empty without momentum
};

class GpuAdam final : public Optimizer {
 public:
  GpuAdam(const OptimizerSpec& spec, std::int64_t count)
      : learning_rate_(spec.learning_rate), mean_(count), square_(count) {}
  void update(Region parameters, Region gradients) override {
    ++updates_;
    const auto t = static_cast<double>(updates_);
    const double rate =
        learning_rate_ * std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t));
    gpu_adam({static_cast<float>(rate), static_cast<float>(1 - beta1),
              static_cast<float>(1 - beta2), static_cast<float>(epsilon)},
             slope_of(gradients), mean_.data(), square_.data(), weights_of(parameters),
             parameters.count, cudaStreamPerThread);
    finish();
  }
  OptimizerState state() const override {
    return {updates_, {values_of(mean_), values_of(square_)}};
  }
  void set_state(const OptimizerState& state) override {
    updates_ = state.updates;
    restore(state.slots.at(0), mean_);
    restore(state.slots.at(1), square_);
  }

 private:
  double learning_rate_;
  std::int64_t updates_ = 0;
  GpuArray<float> mean_;
  GpuArray<float> square_;
};

}  // namespace

std::unique_ptr<Optimizer> make_gpu_optimizer(const OptimizerSpec& spec, std::int64_t count,
                                              DataType type) {
  check(spec);
  if (type != DataType::f32) {
    throw Unavailable(fmt::format("engine cudnn updates f32, not {}", to_string(type)));
  }
  if (spec.name == "adam") return std::make_unique<GpuAdam>(spec, count);
  return std::make_unique<GpuSgd>(spec, count);
}

}  // namespace collbench

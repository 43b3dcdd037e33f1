#include "training/engines/gpu_optimizer.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "training/engines/flat_optimizer.h"
#include "training/engines/gpu_array.h"
#include "training/engines/gpu_kernels.h"
#include "transports/cuda/cuda_error.h"

namespace collbench {
namespace {

void finish() { check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "the optimizer"); }

struct GpuMemory {
  using Element = float;
  using Array = GpuArray<float>;

  static void sgd(float rate, float momentum, const float* slope, float* velocity, float* weights,
                  std::int64_t count) {
    gpu_sgd(rate, momentum, slope, velocity, weights, count, cudaStreamPerThread);
    finish();
  }
  static void adam(const AdamRates<float>& rates, const float* slope, float* mean, float* square,
                   float* weights, std::int64_t count) {
    gpu_adam(rates, slope, mean, square, weights, count, cudaStreamPerThread);
    finish();
  }
  static std::vector<double> values(const Array& array) { return gpu_values(array); }
  static void restore(const std::vector<double>& from, const Array& to) {
    set_gpu_values(from, to);
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_gpu_optimizer(const OptimizerSpec& spec, std::int64_t count,
                                              DataType type) {
  check(spec);
  if (type != DataType::f32) {
    throw Unavailable(fmt::format("engine cudnn updates f32, not {}", to_string(type)));
  }
  return std::make_unique<FlatOptimizer<GpuMemory>>(spec, count);
}

}  // namespace collbench

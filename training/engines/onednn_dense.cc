#include <algorithm>
#include <cassert>

#include <dlfcn.h>
#include <dnnl.hpp>

#include "training/engines/layer_kernels.h"
#include "training/engines/onednn_layers.h"

namespace collbench {
namespace {

/// c (m x n) = op(a) op(b) + beta c, all row-major.
void product(char op_a, char op_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
             const float* b, float beta, float* c) {
  const std::int64_t row_a = op_a == 'N' ? k : m;
  const std::int64_t row_b = op_b == 'N' ? n : k;
  const dnnl_status_t status =
      dnnl_sgemm(op_a, op_b, m, n, k, 1.0F, a, row_a, b, row_b, beta, c, n);
  assert(status == dnnl_success);
  static_cast<void>(status);
}

class OnednnDense final : public Layer<float> {
 public:
  OnednnDense(const Stage& stage, LayerMemory<float> memory)
      : depth_(stage.in.size()), units_(stage.spec.units), relu_(stage.relu), memory_(memory) {}

  void forward(const LayerPass<float>& pass) override {
    for (std::int64_t i = 0; i < pass.samples; ++i) {
      std::copy_n(memory_.parameters, units_, pass.out + i * units_);
    }
    product('N', 'N', pass.samples, units_, depth_, pass.in, kernel(), 1, pass.out);
    if (relu_) layer_kernels().relu(pass.out, pass.samples * units_);
  }
  void backward_parameters(const LayerPass<float>& pass, float* slope) override {
    if (relu_) layer_kernels().mask(pass.out, slope, pass.samples * units_);
    layer_kernels().sum_rows(slope, memory_.gradients, pass.samples, units_);
    product('T', 'N', depth_, units_, pass.samples, pass.in, slope, 0, memory_.gradients + units_);
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    product('N', 'T', pass.samples, depth_, units_, slope, kernel(), 0, in_slope);
  }

 private:
  const float* kernel() const { return memory_.parameters + units_; }

  std::int64_t depth_;
  std::int64_t units_;
  bool relu_;
  LayerMemory<float> memory_;
};

}  // namespace

void use_one_onednn_thread() {
  // oneDNN was built with one OpenMP library or another; it is the one that is loaded.
  static const auto set =
      reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set != nullptr) set(1);
}

std::unique_ptr<Layer<float>> make_onednn_dense(const Stage& stage, LayerMemory<float> memory) {
  return std::make_unique<OnednnDense>(stage, memory);
}

}  // namespace collbench

// The engine over Intel's oneDNN: convolutions and matrix products are its own, the rest is that
// of fast_layers.h and, where a stage is rare, of the plain engine.
#include <algorithm>
#include <cassert>

#include <dlfcn.h>
#include <dnnl.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "training/engines/engine.h"
#include "training/engines/fast_layers.h"
#include "training/engines/layer_kernels.h"
#include "training/engines/onednn_convolution.h"
#include "training/engines/plain_layers.h"

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

/// Makes oneDNN's OpenMP library compute on the calling thread alone, because each replica has a
/// thread of its own. To be called on the thread that runs the network; cheap.
void use_one_onednn_thread() {
  // oneDNN was built with one OpenMP library or another; it is the one that is loaded.
  static const auto set =
      reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (set != nullptr) set(1);
}

std::unique_ptr<Network> make_onednn_network(const Model& model, std::int64_t samples,
                                             DataType type) {
  if (type != DataType::f32) {
    throw Unavailable(fmt::format("engine onednn computes in f32, not {}", to_string(type)));
  }
  use_one_onednn_thread();
  return make_layered_network<float>(
      model, samples, true,
      [context = make_onednn_context()](
          const Stage& stage, LayerMemory<float> memory) -> std::unique_ptr<Layer<float>> {
        if (stage.spec.kind == LayerKind::conv3x3) {
          return make_onednn_convolution(stage, memory, context);
        }
        if (stage.spec.kind == LayerKind::dense) {
          return std::make_unique<OnednnDense>(stage, memory);
        }
        std::unique_ptr<Layer<float>> layer = make_fast_layer(stage, memory);
        return layer != nullptr ? std::move(layer) : make_plain_layer<float>(stage, memory);
      });
}

constexpr ComputeEngine onednn_engines[] = {
    {"onednn", "Intel's oneDNN on the CPU in f32, one thread for each replica",
     [](DataType type) { return type == DataType::f32; }, make_onednn_network,
     make_host_optimizer}};

}  // namespace

std::span<const ComputeEngine> onednn_rows() { return onednn_engines; }

}  // namespace collbench

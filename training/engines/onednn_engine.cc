// The engine over Intel's oneDNN: convolutions and matrix products are its own, the rest is that
// of fast_layers.h and, where a stage is rare, of the plain engine.
#include <fmt/format.h>

#include "core/error.h"
#include "training/engines/engine.h"
#include "training/engines/fast_layers.h"
#include "training/engines/onednn_layers.h"
#include "training/engines/plain_layers.h"

namespace collbench {
namespace {

std::unique_ptr<Network> make_network(const Model& model, std::int64_t samples, DataType type) {
  if (type != DataType::f32) {
    throw Unavailable(fmt::format("engine onednn computes in f32, not {}", to_string(type)));
  }
  use_one_onednn_thread();
  return make_layered_network<float>(
      model, samples, true,
      [context = make_onednn_context()](const Stage& stage, LayerMemory<float> memory) {
        if (stage.spec.kind == LayerKind::conv3x3) {
          return make_onednn_convolution(stage, memory, context);
        }
        if (stage.spec.kind == LayerKind::dense) return make_onednn_dense(stage, memory);
        std::unique_ptr<Layer<float>> layer = make_fast_layer(stage, memory);
        return layer != nullptr ? std::move(layer) : make_plain_layer<float>(stage, memory);
      });
}

constexpr ComputeEngine onednn_engines[] = {
    {"onednn", "Intel's oneDNN on the CPU in f32, one thread for each replica",
     [](DataType type) { return type == DataType::f32; }, make_network, make_host_optimizer}};

}  // namespace

std::span<const ComputeEngine> onednn_rows() { return onednn_engines; }

}  // namespace collbench

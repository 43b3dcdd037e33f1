#include "training/engines/stage.h"

#include <algorithm>
#include <utility>

namespace collbench {
namespace {

bool is_source(const Model& model, std::size_t layer) {
  return std::any_of(model.layers.begin(), model.layers.end(), [layer](const LayerSpec& spec) {
    return spec.kind == LayerKind::add && spec.from == static_cast<int>(layer);
  });
}

bool takes_relu(const Stage& stage) {
  const LayerKind kind = stage.spec.kind;
  return !stage.relu && (kind == LayerKind::dense || kind == LayerKind::conv3x3 ||
                         kind == LayerKind::batch_norm || kind == LayerKind::max_pool2x2);
}

bool takes_shortcut(const Stage& stage) {
  return stage.spec.kind == LayerKind::batch_norm && !stage.relu && stage.shortcut < 0;
}

}  // namespace

std::vector<Stage> stages_of(const Model& model, bool fused) {
  const std::vector<SampleShape> shapes = shapes_of(model);
  std::vector<Stage> stages;
  std::vector<int> value_of;  // of each layer's outcome
  bool relu_in_pool = false;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const LayerSpec& layer = model.layers[i];
    const bool may_fuse = fused && !stages.empty() && !is_source(model, i - 1);
    Stage stage{static_cast<int>(i), layer, shapes[i], shapes[i + 1]};
    if (layer.kind == LayerKind::add) {
      stage.shortcut = value_of[static_cast<std::size_t>(layer.from)];
      stage.shortcut_shape = shapes[static_cast<std::size_t>(layer.from) + 1];
    }
    if (layer.kind == LayerKind::flatten) {
      // Nothing to compute.
    } else if (layer.kind == LayerKind::relu && may_fuse && takes_relu(stages.back())) {
      relu_in_pool = stages.back().spec.kind == LayerKind::conv3x3 && !is_source(model, i) &&
                     i + 1 < model.layers.size() &&
                     model.layers[i + 1].kind == LayerKind::max_pool2x2;
      stages.back().relu = !relu_in_pool;
    } else if (layer.kind == LayerKind::add && may_fuse && takes_shortcut(stages.back())) {
      stages.back().shortcut = stage.shortcut;
      stages.back().shortcut_shape = stage.shortcut_shape;
    } else {
      stage.relu = std::exchange(relu_in_pool, false);
      stages.push_back(stage);
    }
    value_of.push_back(static_cast<int>(stages.size()));
  }
  return stages;
}

}  // namespace collbench

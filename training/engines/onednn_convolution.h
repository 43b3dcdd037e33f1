// Convolutions by oneDNN, in f32.
//
// Values, parameters and gradients lie as the plain engine has them (layer.h), for oneDNN's kernels
// are as fast on channels-last images as on its own blocked layout: the flat vectors of all engines
// and CPUs are then alike. Only the kernels of convolutions are rearranged, at each use.
// Source: Intel, oneDNN 2.6 developer guide.
#pragma once

#include <memory>

#include "training/engines/layer.h"

namespace collbench {

/// What the convolutions of one network share: oneDNN's engine and stream, and scratch memory.
class OnednnContext;
std::shared_ptr<OnednnContext> make_onednn_context();

std::unique_ptr<Layer<float>> make_onednn_convolution(const Stage& stage, LayerMemory<float> memory,
                                                      std::shared_ptr<OnednnContext> context);

}  // namespace collbench

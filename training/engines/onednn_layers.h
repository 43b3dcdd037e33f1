// The layers of the oneDNN engine that call oneDNN, in f32.
//
// Values, parameters and gradients lie as the plain engine has them (layer.h), for oneDNN's kernels
// are as fast on channels-last images as on its own blocked layout: the flat vectors of all engines
// and CPUs are then alike. Only the kernels of convolutions are rearranged, at each use.
// Source: Intel, oneDNN 2.6 developer guide.
#pragma once

#include <memory>

#include "training/engines/layer.h"

namespace collbench {

/// What the layers of one network share: oneDNN's engine and stream, and scratch memory.
class OnednnContext;
std::shared_ptr<OnednnContext> make_onednn_context();

/// Makes oneDNN's OpenMP library compute on the calling thread alone, because each replica has a
/// thread of its own. To be called on the thread that runs the network; cheap.
void use_one_onednn_thread();

std::unique_ptr<Layer<float>> make_onednn_convolution(const Stage& stage, LayerMemory<float> memory,
                                                      std::shared_ptr<OnednnContext> context);
std::unique_ptr<Layer<float>> make_onednn_dense(const Stage& stage, LayerMemory<float> memory);

}  // namespace collbench

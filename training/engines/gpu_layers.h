// The layers of the engine on GPUs: those of layer.h, on pointers of the device, enqueued.
#pragma once

#include <cstdint>
#include <memory>

#include "training/engines/gpu_lanes.h"
#include "training/engines/layer.h"

namespace collbench {

/// `turned` is where the kernel of a convolution lies as cuDNN takes it (gpu_turn_kernels). `lanes`
/// must outlive the layer. Throws as GpuMath does.
std::unique_ptr<Layer<float>> make_gpu_layer(const Stage& stage, LayerMemory<float> memory,
                                             const float* turned, GpuLanes& lanes);

}  // namespace collbench

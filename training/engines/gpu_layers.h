// The layers of the engine on GPUs: those of layer.h, on pointers of the device, enqueued on one
// stream.
#pragma once

#include <cstdint>
#include <memory>

#include "training/engines/gpu_math.h"
#include "training/engines/layer.h"

namespace collbench {

/// Of a stage that is not fused with others. `math` must outlive it. Throws as GpuMath does.
std::unique_ptr<Layer<float>> make_gpu_layer(const Stage& stage, LayerMemory<float> memory,
                                             GpuMath& math);

}  // namespace collbench

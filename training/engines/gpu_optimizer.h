// The optimizers of optimizer.h on a GPU: one kernel for each update.
#pragma once

#include <cstdint>
#include <memory>

#include "training/optimizer.h"

namespace collbench {

/// For f32 on the current device. Throws as make_host_optimizer() does.
std::unique_ptr<Optimizer> make_gpu_optimizer(const OptimizerSpec& spec, std::int64_t count,
                                              DataType type);

}  // namespace collbench

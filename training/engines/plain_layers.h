// The layers of the plain engine, forward and backward, as loops over host memory, one for each
// kind of stage that is not fused. Their values and rules are those of layer.h.
#pragma once

#include <memory>

#include "training/engines/layer.h"

namespace collbench {

/// T is float or double.
template <class T>
std::unique_ptr<Layer<T>> make_plain_layer(const Stage& stage, LayerMemory<T> memory);

/// Its part for batch_norm, add and global_average_pool.
template <class T>
std::unique_ptr<Layer<T>> make_plain_residual_layer(const Stage& stage, LayerMemory<T> memory);

}  // namespace collbench

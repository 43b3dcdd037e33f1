// A build without CUDA or cuDNN: its engine is no row of the table.
#include "training/engines/engine.h"

namespace collbench {

std::span<const ComputeEngine> cudnn_rows() { return {}; }

}  // namespace collbench

// NCCL's numbers for a type and an operator.
#pragma once

#include "core/data_type.h"

namespace collbench {

/// Throw Unavailable for those that NCCL lacks, or that it computes otherwise.
int nccl_type(DataType type);
int nccl_op(ReduceOp op, DataType type, int ranks);

}  // namespace collbench

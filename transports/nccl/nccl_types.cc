#include "transports/nccl/nccl_types.h"

#include <bit>

#include <fmt/format.h>

#include "core/error.h"
#include "transports/cuda/nccl_library.h"

namespace collbench {

int nccl_type(DataType type) {
  switch (type) {
    case DataType::f16:
      return nccl_f16;
    case DataType::bf16:
      return nccl_bf16;
    case DataType::f32:
      return nccl_f32;
    case DataType::f64:
      return nccl_f64;
    case DataType::i32:
      return nccl_i32;
    case DataType::i64:
      return nccl_i64;
    case DataType::u8:
      return nccl_u8;
  }
  throw Unavailable(fmt::format("NCCL has no element type number {}", static_cast<int>(type)));
}

int nccl_op(ReduceOp op, DataType type, int ranks) {
  const bool floating = type == DataType::f16 || type == DataType::bf16 || type == DataType::f32 ||
                        type == DataType::f64;
  if (op == ReduceOp::avg && floating && !std::has_single_bit(static_cast<unsigned>(ranks))) {
    throw Unavailable(fmt::format(
        "NCCL divides before it adds, so its avg of {} over {} ranks rounds every term; use sum, "
        "or 2, 4, 8, ... ranks",
        to_string(type), ranks));
  }
  switch (op) {
    case ReduceOp::sum:
      return nccl_sum;
    case ReduceOp::prod:
      return nccl_prod;
    case ReduceOp::min:
      return nccl_min;
    case ReduceOp::max:
      return nccl_max;
    case ReduceOp::avg:
      return nccl_avg;
  }
  throw Unavailable(fmt::format("NCCL has no operator number {}", static_cast<int>(op)));
}

}  // namespace collbench

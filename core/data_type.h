// The element types and reduction operators that every layer speaks of.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace collbench {

/// Type of one element. f16 is IEEE binary16, bf16 is the upper half of binary32.
enum class DataType : std::uint8_t { f16, bf16, f32, f64, i32, i64, u8 };

/// Reduction operator. min and max propagate NaN; integer sum and prod wrap; avg is the sum times
/// 1/ranks for floating point (in f32 for f16, bf16, f32) and truncates toward zero for integers.
enum class ReduceOp : std::uint8_t { sum, prod, min, max, avg };

/// What is done to elements: kernels and switches have not every operator of every type.
struct TypedOp {
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
};

/// Bytes of one element.
constexpr int size_of(DataType type) {
  switch (type) {
    case DataType::f16:
    case DataType::bf16:
      return 2;
    case DataType::f32:
    case DataType::i32:
      return 4;
    case DataType::f64:
    case DataType::i64:
      return 8;
    case DataType::u8:
      return 1;
  }
  return 0;
}
std::string_view to_string(DataType type);
std::string_view to_string(ReduceOp op);
/// "max of f32".
std::string to_string(TypedOp what);
std::span<const DataType> all_data_types();
std::span<const ReduceOp> all_reduce_ops();

/// Read a name, nccl-tests' and NumPy's spellings included ("float", "half", "int32").
/// Throw InvalidArgument with a suggestion for an unknown name.
DataType parse_data_type(std::string_view name);
ReduceOp parse_reduce_op(std::string_view name);

}  // namespace collbench

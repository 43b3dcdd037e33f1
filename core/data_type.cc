#include "core/data_type.h"

#include <array>
#include <vector>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {

namespace {

struct TypeRow {
  DataType type;
  std::array<std::string_view, 4> names;  // the first is ours
};
constexpr std::array<TypeRow, 7> type_rows{{
    {DataType::f16, {"f16", "half", "float16", "fp16"}},
    {DataType::bf16, {"bf16", "bfloat16", "", ""}},
    {DataType::f32, {"f32", "float", "float32", "fp32"}},
    {DataType::f64, {"f64", "double", "float64", "fp64"}},
    {DataType::i32, {"i32", "int32", "int", ""}},
    {DataType::i64, {"i64", "int64", "long", ""}},
    {DataType::u8, {"u8", "uint8", "byte", ""}},
}};
constexpr std::array<std::string_view, 5> op_names{"sum", "prod", "min", "max", "avg"};
constexpr std::array<DataType, 7> types{DataType::f16, DataType::bf16, DataType::f32, DataType::f64,
                                        DataType::i32, DataType::i64,  DataType::u8};
constexpr std::array<ReduceOp, 5> ops{ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max,
                                      ReduceOp::avg};

}  // namespace

std::string_view to_string(DataType type) {
  return type_rows[static_cast<std::size_t>(type)].names[0];
}
std::string_view to_string(ReduceOp op) { return op_names[static_cast<std::size_t>(op)]; }
std::string to_string(TypedOp what) {
  return std::string(to_string(what.op)) + " of " + std::string(to_string(what.type));
}
std::span<const DataType> all_data_types() { return types; }
std::span<const ReduceOp> all_reduce_ops() { return ops; }

DataType parse_data_type(std::string_view name) {
  std::vector<std::string> known;
  for (const TypeRow& row : type_rows) {
    for (const std::string_view one : row.names) {
      if (!one.empty() && name == one) return row.type;
    }
    known.emplace_back(row.names[0]);
  }
  throw InvalidArgument(unknown_name("data type", name, known));
}

ReduceOp parse_reduce_op(std::string_view name) {
  return ops[index_of("operator", name, op_names)];
}

}  // namespace collbench

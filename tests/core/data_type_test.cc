#include "core/data_type.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

TEST(DataTypeTest, NamesReadBackToTheSameType) {
  for (const DataType type : all_data_types()) EXPECT_EQ(parse_data_type(to_string(type)), type);
}

TEST(DataTypeTest, EveryTypeIsListedOnce) {
  const auto types = all_data_types();
  EXPECT_EQ(std::set<DataType>(types.begin(), types.end()).size(), 7U);
  EXPECT_EQ(types.size(), 7U);
}

TEST(DataTypeTest, SizesAreThoseOfTheFormat) {
  EXPECT_EQ(size_of(DataType::f16), 2);
  EXPECT_EQ(size_of(DataType::bf16), 2);
  EXPECT_EQ(size_of(DataType::f32), 4);
  EXPECT_EQ(size_of(DataType::f64), 8);
  EXPECT_EQ(size_of(DataType::i32), 4);
  EXPECT_EQ(size_of(DataType::i64), 8);
  EXPECT_EQ(size_of(DataType::u8), 1);
}

TEST(DataTypeTest, ReadsTheSpellingsOfNcclTestsAndNumpy) {
  EXPECT_EQ(parse_data_type("half"), DataType::f16);
  EXPECT_EQ(parse_data_type("bfloat16"), DataType::bf16);
  EXPECT_EQ(parse_data_type("float"), DataType::f32);
  EXPECT_EQ(parse_data_type("double"), DataType::f64);
  EXPECT_EQ(parse_data_type("int32"), DataType::i32);
  EXPECT_EQ(parse_data_type("int64"), DataType::i64);
  EXPECT_EQ(parse_data_type("uint8"), DataType::u8);
}

TEST(DataTypeTest, UnknownNameIsRefusedWithValueSuggestionAndChoices) {
  const std::string message = refusal([] { parse_data_type("f23"); });
  EXPECT_THAT(message, HasSubstr("unknown data type 'f23'"));
  EXPECT_THAT(message, HasSubstr("Did you mean"));
  EXPECT_THAT(message, HasSubstr("f16, bf16, f32, f64, i32, i64, u8"));
}

TEST(DataTypeTest, EmptyNameIsRefusedAlthoughAliasTablesHaveEmptyPlaces) {
  EXPECT_THROW(parse_data_type(""), InvalidArgument);
  EXPECT_THROW(parse_reduce_op(""), InvalidArgument);
}

TEST(ReduceOpTest, NamesReadBackToTheSameOperator) {
  EXPECT_EQ(all_reduce_ops().size(), 5U);
  std::set<std::string_view> names;
  for (const ReduceOp op : all_reduce_ops()) {
    EXPECT_EQ(parse_reduce_op(to_string(op)), op);
    names.insert(to_string(op));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"sum", "prod", "min", "max", "avg"}));
}

TEST(ReduceOpTest, UnknownNameIsRefusedWithValueSuggestionAndChoices) {
  const std::string message = refusal([] { parse_reduce_op("smu"); });
  EXPECT_THAT(message, HasSubstr("unknown operator 'smu'. Did you mean 'sum'?"));
  EXPECT_THAT(message, HasSubstr("sum, prod, min, max, avg"));
}

}  // namespace
}  // namespace collbench

#include "training/safetensors.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + data;
}

TEST(SafetensorsTest, WhatIsWrittenIsRead) {
  const std::string floats(12, 'f');
  const std::string bytes(3, 'b');
  SafeTensors content;
  content.metadata = {{"step", "7"}, {"quote", "\"\n"}};
  content.tensors = {{"b", DataType::u8, {3, 1}, bytes}, {"a", DataType::f32, {3}, floats}};
  const std::string file = encode_safetensors(content);
  EXPECT_EQ((file.size() - floats.size() - bytes.size()) % 8, 0U) << "the header is padded";
  const SafeTensors read = parse_safetensors(file, "file");
  EXPECT_EQ(read.metadata, content.metadata);
  ASSERT_EQ(read.tensors.size(), 2U);
  EXPECT_EQ(read.tensors[0].name, "a") << "larger elements come first";
  EXPECT_EQ(read.find("b")->bytes, bytes);
  EXPECT_EQ(read.find("b")->shape, (std::vector<std::int64_t>{3, 1}));
  EXPECT_EQ(read.find("c"), nullptr);
}

TEST(SafetensorsTest, AFileWithoutTensorsIsOne) {
  EXPECT_TRUE(parse_safetensors(encode_safetensors({}), "file").tensors.empty());
}

TEST(SafetensorsTest, RefusesEverythingElse) {
  const auto refuses = [](const std::string& file, const char* words) {
    EXPECT_THAT([&] { parse_safetensors(file, "x.safetensors"); },
                ThrowsMessage<InvalidArgument>(
                    testing::AllOf(HasSubstr("x.safetensors"), HasSubstr(words))))
        << file;
  };
  refuses("", "shorter than 8 bytes");
  refuses(std::string(8, '\xFF'), "its header would have");
  refuses(file_of("[]", ""), "does not begin with '{'");
  refuses(file_of("{", ""), "not JSON");
  refuses(file_of(R"({"__metadata__":{"a":1}})", ""), "is not a string");
  refuses(file_of(R"({"a":{"dtype":"F32","shape":[1]}})", "1234"), "lacks dtype, shape or data");
  const auto tensor = [](const char* type, const char* shape, const char* offsets) {
    return std::string(R"({"a":{"dtype":")") + type + R"(","shape":)" + shape +
           R"(,"data_offsets":)" + offsets + "}}";
  };
  refuses(file_of(tensor("F31", "[1]", "[0,4]"), "1234"), "unknown type");
  refuses(file_of(tensor("F32", "[-1]", "[0,4]"), "1234"), "not a whole number");
  refuses(file_of(tensor("F32", "[4294967296,4294967296]", "[0,4]"), "1234"), "too large");
  refuses(file_of(tensor("F32", "[1]", "[0,8]"), "1234"), "beyond the file");
  refuses(file_of(tensor("F32", "[2]", "[0,4]"), "1234"), "takes 4 bytes, its shape 8");
  refuses(file_of(tensor("F32", "[1]", "[1,5]"), "12345"), "does not begin where");
  refuses(file_of(tensor("F32", "[1]", "[0,4]"), "12345"), "belong to no tensor");
}

}  // namespace
}  // namespace collbench

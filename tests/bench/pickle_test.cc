// Pickles opcode by opcode: what Python's pickle writes for plain types in protocols 0 to 5, and
// what it never does.
#include "bench/logs/pickle.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using namespace std::string_literals;

/// The value as JSON, of a whole pickle.
std::string value_of(const std::string& pickle) {
  bool cut = true;
  const std::string text = json_of_pickle(pickle + ".", "p", cut);
  EXPECT_FALSE(cut) << pickle;
  return text;
}

std::string refused(const std::string& pickle) {
  return refusal([&] {
    bool cut = false;
    json_of_pickle(pickle + ".", "p", cut);
  });
}

TEST(Pickle, HasNumbersOfEveryWidth) {
  EXPECT_EQ(value_of("N"), "null");
  EXPECT_EQ(value_of("\x88"), "true");
  EXPECT_EQ(value_of("\x89"), "false");
  EXPECT_EQ(value_of("K\xff"), "255");
  EXPECT_EQ(value_of("M\x01\x02"), "513");
  EXPECT_EQ(value_of("J\xfe\xff\xff\xff"), "-2");
  // LONG1 and LONG4: a length, then two's complement; of no bytes it is 0.
  EXPECT_EQ(value_of("\x8a\x00"s), "0");
  EXPECT_EQ(value_of("\x8a\x01\x80"s), "-128");
  EXPECT_EQ(value_of("\x8a\x02\x80\x00"s), "128");
  EXPECT_EQ(value_of("\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s), "9223372036854775807");
  EXPECT_EQ(value_of("\x8b\x02\x00\x00\x00\x80\x00"s), "128");
  EXPECT_EQ(value_of("G\x3f\xf8\x00\x00\x00\x00\x00\x00"s), "1.5");
  EXPECT_THAT(refused("\x8a\x09" + std::string(9, '\1')), HasSubstr("more than 64 bits"));
}

TEST(Pickle, HasTextOfEveryLengthAndBytesAreText) {
  EXPECT_EQ(value_of("\x8c\x02" + "ab"s), "\"ab\"");
  EXPECT_EQ(value_of("X\x02\x00\x00\x00"s + "ab"), "\"ab\"");
  EXPECT_EQ(value_of("\x8d\x02\x00\x00\x00\x00\x00\x00\x00"s + "ab"), "\"ab\"");
  EXPECT_EQ(value_of("U\x02"s + "ab"), "\"ab\"");
  EXPECT_EQ(value_of("C\x02"s + "ab"), "\"ab\"");
  EXPECT_EQ(value_of("\x8e\x02\x00\x00\x00\x00\x00\x00\x00"s + "ab"), "\"ab\"");
}

TEST(Pickle, HasListsTuplesAndDictionariesEitherWay) {
  EXPECT_EQ(value_of("]"), "[]");
  EXPECT_EQ(value_of("]K\x01"s + "a"), "[1]");
  EXPECT_EQ(value_of("](K\x01K\x02"s + "e"), "[1,2]");
  EXPECT_EQ(value_of("(K\x01K\x02"s + "l"), "[1,2]");
  EXPECT_EQ(value_of("(K\x01K\x02K\x03K\x04"s + "t"), "[1,2,3,4]");
  EXPECT_EQ(value_of("K\x01\x85"s), "[1]");
  EXPECT_EQ(value_of("K\x01K\x02K\x03\x87"s), "[1,2,3]");
  EXPECT_EQ(value_of("}"), "{}");
  EXPECT_EQ(value_of("}U\x01"s + "aK\x01" + "s"), "{\"a\":1}");
  EXPECT_EQ(value_of("}(U\x01"s + "aK\x01K\x07K\x02" + "u"), "{\"a\":1,\"7\":2}");
  EXPECT_EQ(value_of("(U\x01"s + "aK\x01" + "d"), "{\"a\":1}");
  EXPECT_THAT(refused("}N" + "K\x01"s + "s"), HasSubstr("neither text nor a number"));
  EXPECT_THAT(refused("}(K\x01"s + "u"), HasSubstr("a key without a value"));
  EXPECT_THAT(refused("K\x01K\x02"s + "a"), HasSubstr("non-list"));
}

TEST(Pickle, TakesValuesAwayAndRemembersThem) {
  EXPECT_EQ(value_of("K\x01K\x02"s + "0"), "1");
  EXPECT_EQ(value_of("K\x01(K\x02K\x03"s + "1"), "1");
  // A protocol and a frame say nothing of values.
  EXPECT_EQ(value_of("\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00K\x01"s), "1");
  EXPECT_EQ(value_of("]q\x05K\x01"s + "ah\x05\x86"), "[[1],[1]]");
  EXPECT_EQ(value_of("]r\x05\x01\x00\x00K\x01"s + "aj\x05\x01\x00\x00\x86"s), "[[1],[1]]");
  EXPECT_EQ(value_of("U\x01"s + "a\x94h\x00\x86"s), "[\"a\",\"a\"]");
  EXPECT_THAT(refused("h\x07"s), HasSubstr("recalls a value that it did not remember"));
  EXPECT_THAT(refused("0"), HasSubstr("takes a value that is not there"));
  EXPECT_THAT(refused("K\x01("s + "0"), HasSubstr("takes a value that is not there"));
  EXPECT_THAT(refused("K\x01"s + "u"), HasSubstr("no mark"));
}

TEST(Pickle, WhatWouldRunSomethingIsRefused) {
  for (const std::string& pickle :
       {"cos\nsystem\n"s, "K\x01R"s, "K\x01"s + "b", "\x93"s, "\x81"s}) {
    EXPECT_THAT(refused(pickle), HasSubstr("it is not run")) << pickle;
  }
}

TEST(Pickle, OfOneThatEndsEarlyWhatIsWholeIsKept) {
  bool cut = false;
  EXPECT_EQ(json_of_pickle("}U\x01"s + "aK\x01" + "sU\x01" + "b](K\x01K", "p", cut),
            "{\"a\":1,\"b\":[1]}");
  EXPECT_TRUE(cut);
  EXPECT_EQ(json_of_pickle("](K\x01K\x02\x8c\x05" + "ab"s, "p", cut), "[1,2]");
  EXPECT_TRUE(cut);
}

}  // namespace
}  // namespace collbench

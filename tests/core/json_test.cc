#include "core/json.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

namespace collbench {
namespace {

using testing::HasSubstr;

std::string refusal_of_json(const std::string& text) {
  return refusal([&] {
    read_json<nlohmann::json>(
        text, "job.json", [](const nlohmann::json& value) { return value.at("size").get<int>(); });
  });
}

TEST(ReadJsonTest, SaysWhereTheTextIsNoJson) {
  EXPECT_THAT(refusal_of_json("{\n\"size\": ,}"),
              HasSubstr("job.json: no JSON: parse error at line 2"));
  EXPECT_EQ(refusal_of_json("{}"), "job.json: key 'size' not found");
  EXPECT_EQ(refusal_of_json(R"({"size": "x"})"), "job.json: type must be number, but is string");
  EXPECT_EQ(refusal_of_json(R"({"size": 3})"), "");
}

TEST(ReadJsonTest, RefusesWhatWouldOverflowTheStack) {
  const std::string deep = std::string(50'000, '[') + std::string(50'000, ']');
  EXPECT_EQ(refusal_of_json(deep), "job.json: it is nested deeper than 100 levels");
  EXPECT_EQ(refusal_of_json(R"({"size": 3, "a": ")" + std::string(200, '[') + "\"}"), "")
      << "within a string";
}

TEST(ReadJsonTest, RefusesWhatATerminalWouldObey) {
  EXPECT_EQ(refusal_of_json(R"({"size": 3, "host": "a\u001b[2J"})"),
            "job.json: it holds a control character, \\u001b");
  EXPECT_EQ(refusal_of_json(R"({"size": 3, "host": "a\u009B2J"})"),
            "job.json: it holds a control character, \\u009B");
  EXPECT_EQ(refusal_of_json("{\"size\": 3, \"host\": \"\xc2\x9b\"}"),
            "job.json: it holds a control character, \\xc2\\x9b");
  EXPECT_EQ(refusal_of_json("{\"size\": 3, \"host\": \"\xc2\xb5\"}"), "");
  EXPECT_EQ(refusal_of_json(R"({"size": 3, "host": "a\nb\u00e9"})"), "");
}

TEST(JsonTextTest, KeepsTheOrderAndReplacesWhatIsNotUtf8) {
  const nlohmann::ordered_json value{{"b", "node\xff"}, {"a", {1, 2}}};
  EXPECT_EQ(json_text(value), "{\"b\":\"node\xef\xbf\xbd\",\"a\":[1,2]}");
  EXPECT_EQ(json_text(nlohmann::json(value["a"]), 1), "[\n 1,\n 2\n]");
}

TEST(ParseJsonTest, ThrowsOrDiscards) {
  EXPECT_EQ(parse_json<nlohmann::json>("[3]").at(0), 3);
  EXPECT_THROW(parse_json<nlohmann::ordered_json>("[3"), nlohmann::json::parse_error);
  EXPECT_EQ(try_parse_json<nlohmann::ordered_json>("[3]").at(0), 3);
  EXPECT_TRUE(try_parse_json<nlohmann::json>("[3").is_discarded());
}

}  // namespace
}  // namespace collbench

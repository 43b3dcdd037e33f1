#include "cli/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string refusal(const std::string& text) {
  try {
    parse_config(text, "my.toml");
  } catch (const InvalidArgument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(ParseConfigTest, ReadsStringsNumbersSwitchesAndArrays) {
  const auto entries = parse_config(
      "# a comment\n"
      "algo = [\"ring\", 'torus:dims=4x4',]  # two\n"
      "\n"
      "[run]\n"
      "workers=8\r\n"
      "  isolate = true\n"
      "filter = \"a \\\"b\\\" # c\"",
      "my.toml");
  ASSERT_THAT(entries, SizeIs(4));
  EXPECT_EQ(entries[0].key, "algo");
  EXPECT_EQ(entries[0].value, "ring,torus:dims=4x4");
  EXPECT_EQ(entries[0].line, 2);
  EXPECT_EQ(entries[1].value, "8");
  EXPECT_EQ(entries[1].line, 5);
  EXPECT_EQ(entries[2].value, "true");
  EXPECT_EQ(entries[3].value, "a \"b\" # c");
}

TEST(ParseConfigTest, ReadsAnEmptyFile) {
  EXPECT_THAT(parse_config("", "my.toml"), SizeIs(0));
  EXPECT_THAT(parse_config("\n\n# nothing\n", "my.toml"), SizeIs(0));
}

TEST(ParseConfigTest, NamesFileAndLineOfWhatItRefuses) {
  EXPECT_EQ(refusal("algo = ring\nworkers 8\n"), "my.toml:2: expected '=' after the key 'workers'");
  EXPECT_THAT(refusal("\nworkers =\n"), HasSubstr("my.toml:2: expected a value"));
  EXPECT_THAT(refusal("algo = \"ring\n"), HasSubstr("no closing \""));
  EXPECT_THAT(refusal("algo = ring tree\n"), HasSubstr("unexpected text"));
  EXPECT_THAT(refusal("algo = [ring tree]\n"), HasSubstr("expected ','"));
  EXPECT_THAT(refusal("algo = [ring,\n"), HasSubstr("expected a value"));
  EXPECT_THAT(refusal("algo = \"a\\n\"\n"), HasSubstr("unknown escape"));
  EXPECT_THAT(refusal("[train]\n"), HasSubstr("unknown table [train]"));
  EXPECT_THAT(refusal("workers = 2\nworkers = 4\n"),
              HasSubstr("my.toml:2: 'workers' is given twice"));
}

TEST(ReadTextFileTest, RefusesWhatIsNoReadableFile) {
  EXPECT_THROW(read_text_file("/nonexistent/collbench.toml"), Unavailable);
  EXPECT_THROW(read_text_file("/"), Unavailable);
}

}  // namespace
}  // namespace collbench

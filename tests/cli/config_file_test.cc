#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "cli/settings.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::SizeIs;
using testing::StartsWith;

std::string refusal_of_config(const std::string& text) {
  return refusal([&] { parse_config(text, "my.toml"); });
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

TEST(ParseConfigTest, ListsOfNetworksAndGroupsStayApart) {
  const auto entries = parse_config(
      "topo = [\"star:2,10Gbps,5us\", \"dgx-h100\"]\ngroups = [\"0-3\", \"4-7\"]\n", "my.toml");
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0].value, "star:2,10Gbps,5us;dgx-h100");
  EXPECT_EQ(entries[1].value, "0-3;4-7");
}

TEST(ParseConfigTest, ReadsAnEmptyFile) {
  EXPECT_THAT(parse_config("", "my.toml"), SizeIs(0));
  EXPECT_THAT(parse_config("\n\n# nothing\n", "my.toml"), SizeIs(0));
}

TEST(ParseConfigTest, NamesFileAndLineOfWhatItRefuses) {
  EXPECT_THAT(refusal_of_config("algo = \"ring\"\nworkers 8\n"), StartsWith("my.toml:2: no TOML"));
  EXPECT_THAT(refusal_of_config("\nworkers =\n"), StartsWith("my.toml:2: no TOML"));
  EXPECT_THAT(refusal_of_config("\nalgo = ring\n"), StartsWith("my.toml:2: no TOML"));
  EXPECT_THAT(refusal_of_config("algo = \"ring\n"), StartsWith("my.toml:1: no TOML"));
  EXPECT_THAT(refusal_of_config("algo = [\"ring\" \"tree\"]\n"), StartsWith("my.toml:1: no TOML"));
  EXPECT_THAT(refusal_of_config("workers = 2\nworkers = 4\n"), StartsWith("my.toml:2: no TOML"));
  EXPECT_EQ(refusal_of_config("seed = 1\n[train]\nseed = 2\n"), "my.toml:2: unknown table [train]");
  EXPECT_EQ(refusal_of_config("workers = 2\n[run]\nworkers = 4\n"),
            "my.toml:3: 'workers' is given twice");
  EXPECT_THAT(refusal_of_config("\nseed = 1979-05-27\n"),
              StartsWith("my.toml:2: `seed` of the file must be"));
  EXPECT_THAT(refusal_of_config("run = 3\n"),
              StartsWith("my.toml:1: `run` of the file must be a table"));
}

TEST(ParseConfigTest, TakesAllThatTomlCanWrite) {
  const auto entries = parse_config(
      "algo = [\n  \"ring\",  # one\n  \"tree\",\n]\nseed = 1_000\n\"target-ci\" = 0.02\n"
      "filter = \"\"\"\nworkers:4\"\"\"\n",
      "my.toml");
  ASSERT_THAT(entries, SizeIs(4));
  EXPECT_EQ(entries[0].value, "ring,tree");
  EXPECT_EQ(entries[1].value, "1000");
  EXPECT_EQ(entries[1].line, 5);
  EXPECT_EQ(entries[2].value, "0.02");
  EXPECT_EQ(entries[3].value, "workers:4");
}

}  // namespace
}  // namespace collbench

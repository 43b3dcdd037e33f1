// TOML files are read to a depth that the stack bears, and their keys keep their order.
#include "topologies/toml_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"

namespace collbench {
namespace {

std::string times(int n, const std::string& text) {
  std::string all;
  for (int i = 0; i < n; ++i) all += text;
  return all;
}

std::string refusal_of_table(const std::string& text) {
  return refusal([&] { TomlTable::parse(text, "x.toml"); });
}

TEST(TomlTableTest, RefusesWhatIsNestedTooDeep) {
  constexpr int deep = 50'000;
  const std::string why = "nested deeper than 100 levels";
  EXPECT_EQ(refusal_of_table("b = 1\n" + times(deep, "a.") + "a = 1\n"), "x.toml:2: " + why);
  EXPECT_EQ(refusal_of_table("[" + times(deep, "a.") + "a]\nb = 1\n"), "x.toml:1: " + why);
  EXPECT_EQ(refusal_of_table("a = " + times(deep, "[") + times(deep, "]")), "x.toml:1: " + why);
  EXPECT_EQ(refusal_of_table("a = " + times(deep, "{a=") + "1" + times(deep, "}")),
            "x.toml:1: " + why);
  EXPECT_EQ(refusal_of_table(times(deep, "\"a\" . ") + "a = 1\n"), "x.toml:1: " + why);
  // Strings end where TOML says, so that nothing hides behind one.
  const std::string hidden = "{" + times(deep, "a.") + "a = 1}]\n";
  EXPECT_EQ(refusal_of_table("a = [\"\"\"b\"\"\"\", " + hidden), "x.toml:1: " + why);
  EXPECT_EQ(refusal_of_table("a = [\"\\\"\", " + hidden), "x.toml:1: " + why);
  EXPECT_EQ(refusal_of_table("a = [\"\"\"\n\n\"\"\", " + hidden), "x.toml:3: " + why);
}

TEST(TomlTableTest, RefusesWhatATerminalWouldObey) {
  const TomlTable table = TomlTable::parse(
      "a = 1\nb = \"x\\u001b[2J\"\nc = [\"y\", \"\\b\"]\nd = \"1\\n2\"\n", "x.toml");
  EXPECT_THAT(
      refusal([&] { table.text("b"); }),
      testing::HasSubstr("x.toml:2: `b` of the file holds a control character: 'x\\x1b[2J'"));
  EXPECT_THAT(refusal([&] { table.texts("c"); }), testing::HasSubstr("holds a control character"));
  EXPECT_EQ(table.text("d"), "1\n2");
}

TEST(TomlTableTest, LongIsNotDeep) {
  const TomlTable root =
      TomlTable::parse("a = [" + times(500, "1.5, ") + "]\nb = \"" + times(500, "[.") + "\"\n# " +
                           times(500, "{a.") + "\nc = '''\n" + times(500, "[\n") + "'''\n" +
                           times(90, "d.") + "d = 1\n",
                       "x.toml");
  EXPECT_TRUE(root.has("a"));
  EXPECT_EQ(root.text("c").size(), 1000U);
  EXPECT_TRUE(root.has("d"));
}

TEST(TomlTableTest, SettingsStandInTheOrderOfTheFile) {
  const TomlTable root =
      TomlTable::parse("z = 1\ny = [true, \"x\", 0.5]\na = -3\n[b]\nc = 1\n", "x.toml");
  EXPECT_THROW(root.settings(), InvalidArgument);
  ASSERT_TRUE(root.has("b"));
  const std::vector<TomlSetting> settings = root.settings();
  ASSERT_EQ(settings.size(), 3U);
  EXPECT_EQ(settings[0].key, "z");
  EXPECT_EQ(settings[1].value, "true,x,0.5");
  EXPECT_EQ(settings[2].value, "-3");
  EXPECT_EQ(settings[2].line, 3);
}

}  // namespace
}  // namespace collbench

// Holds every C++ file of the repository against every rule.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/tidy/rules.h"

namespace collbench::tidy {

// Found by GoogleTest, which would print the bytes of a rule otherwise.
void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

namespace {

namespace fs = std::filesystem;

std::vector<SourceFile> read_tree() {
  const fs::path root = COLLBENCH_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const char* folder : {"core", "topologies", "algorithms", "heuristics", "transports",
                             "simulator", "training", "bench", "cli", "tests"}) {
    if (!fs::exists(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string ending = entry.path().extension();
      if (ending != ".h" && ending != ".cc" && ending != ".cu" && ending != ".cuh") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      files.push_back({entry.path().lexically_relative(root), text.str()});
    }
  }
  return files;
}

class TreeTest : public ::testing::TestWithParam<Rule> {};

TEST_P(TreeTest, KeepsTheRule) {
  static const std::vector<SourceFile> files = read_tree();
  ASSERT_GE(files.size(), 20U) << "the tree was not found at " << COLLBENCH_SOURCE_DIR;
  std::string all;
  for (const SourceFile& file : files) {
    for (const std::string& complaint : GetParam().check(file)) all += "\n" + complaint;
  }
  EXPECT_EQ(all, "") << "the rule: " << GetParam().meaning;
}

TEST(WholeTreeTest, EveryTypeOfAHeaderHasANameOfItsOwn) {
  const std::vector<SourceFile> files = read_tree();
  std::string all;
  for (const std::string& complaint : repeated_types(files)) all += "\n" + complaint;
  EXPECT_EQ(all, "");
}

TEST(WholeTreeTest, NoTypeOfATestHasTheNameOfOneOfProduction) {
  const std::vector<SourceFile> files = read_tree();
  std::string all;
  for (const std::string& complaint : repeated_in_tests(files)) all += "\n" + complaint;
  EXPECT_EQ(all, "");
}

TEST(WholeTreeTest, NamesOfUnnamedNamespacesAreUniqueInALibrary) {
  const std::vector<SourceFile> files = read_tree();
  std::string all;
  for (const std::string& complaint : repeated_unnamed(files)) all += "\n" + complaint;
  EXPECT_EQ(all, "");
}

/// What the lists of sources beside a test, and above it in tests/, say.
TEST(WholeTreeTest, NoSourceAboveTransportsNamesABackEnd) {
  const std::vector<SourceFile> files = read_tree();
  std::string all;
  for (const std::string& complaint : back_ends_by_name(files)) all += "\n" + complaint;
  EXPECT_EQ(all, "");
}

std::string lists_for(fs::path folder) {
  std::ostringstream text;
  for (; folder.filename() != "tests"; folder = folder.parent_path()) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const bool is_list =
          entry.path().filename() == "CMakeLists.txt" || entry.path().extension() == ".cmake";
      if (is_list) text << std::ifstream(entry.path()).rdbuf();
    }
  }
  return text.str();
}

TEST(WholeTreeTest, EveryTestIsBuilt) {
  int tests = 0;
  for (const SourceFile& file : read_tree()) {
    if (!file.path.starts_with("tests/") || !file.path.ends_with("_test.cc")) continue;
    const fs::path path = fs::path(COLLBENCH_SOURCE_DIR) / file.path;
    const std::regex name("(^|[^\\w])" + path.stem().string() + "\\.cc\\b");
    EXPECT_TRUE(std::regex_search(lists_for(path.parent_path()), name)) << file.path;
    ++tests;
  }
  EXPECT_GT(tests, 100);
}

INSTANTIATE_TEST_SUITE_P(Every, TreeTest, ::testing::ValuesIn(rules().begin(), rules().end()),
                         [](const auto& rule) { return std::string(rule.param.name); });

}  // namespace
}  // namespace collbench::tidy

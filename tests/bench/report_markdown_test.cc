#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"

namespace collbench {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string markdown(const std::vector<Record>& records, TableStyle style = {},
                     const RunSummary& summary = {}) {
  std::ostringstream out;
  play(*reporter_of("markdown", out, {.style = std::move(style)}), records, summary);
  return out.str();
}

std::vector<std::string> table_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('|')) lines.push_back(line);
  }
  return lines;
}

/// Bars that divide cells: those without a backslash before them.
std::ptrdiff_t dividers(const std::string& line) {
  std::ptrdiff_t count = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    count += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
  }
  return count;
}

TEST(MarkdownReporterTest, ACarriageReturnInANameEndsNoRow) {
  const std::string text = markdown({scripted_record("ring\rtree", 2, {1024}, 5000)});
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(MarkdownReporterTest, EveryLineOfTheTableHasTheSameCells) {
  const auto lines = table_lines(markdown({scripted_record("ring", 2, {1024}, 5000),
                                           scripted_record("double-tree", 8, {1 << 20}, 5000)}));
  ASSERT_EQ(lines.size(), 4U);
  for (const std::string& line : lines) {
    EXPECT_EQ(dividers(line), dividers(lines[0])) << line;
    EXPECT_THAT(line, EndsWith("|"));
  }
  EXPECT_THAT(lines[0], StartsWith("| algorithm | workers | size |"));
  EXPECT_THAT(lines[1], StartsWith("|:--|--:|--:|"));
  EXPECT_THAT(lines[3], StartsWith("| double-tree | 8 | 1 MiB |"));
}

TEST(MarkdownReporterTest, ABlankLineStandsBeforeAndAfterTheTable) {
  const std::string text = markdown({scripted_record("ring", 2, {1024}, 5000)});
  EXPECT_THAT(text, HasSubstr("\n\n| size |"));
  EXPECT_THAT(text, HasSubstr("|\n\n- 0 cases"));
}

TEST(MarkdownReporterTest, TextFromOutsideCannotBreakTheTableOrBecomeMarkup) {
  Record record = scripted_record("mpi:a|b", 2, {1024}, 5000);
  record.measurement = {};
  record.skipped = "<b> no *MPI*\nhere";
  const std::string text = markdown({record, scripted_record("ring", 2, {1024}, 5000)});
  const auto lines = table_lines(text);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(dividers(lines[2]), dividers(lines[0]));
  EXPECT_THAT(lines[2], HasSubstr("mpi:a\\|b"));
  EXPECT_THAT(text, HasSubstr("skipped: \\<b\\> no \\*MPI\\* here\n"));
}

TEST(MarkdownReporterTest, WrongRowsAreBold) {
  Record record = scripted_record("ring", 2, {1024}, 5000);
  record.measurement.wrong = 17;
  RunSummary summary;
  summary.measured = 1;
  summary.wrong = 1;
  const std::string text = markdown({record}, {}, summary);
  EXPECT_THAT(text, HasSubstr("| **17** |"));
  EXPECT_THAT(text, HasSubstr("1 WRONG"));
  EXPECT_THAT(markdown({scripted_record("ring", 2, {1024}, 5000)}), Not(HasSubstr("**")));
}

TEST(MarkdownReporterTest, SaysWhatAutoChoseWhatDisturbedAndWhatEndedTheRun) {
  Record record = scripted_record("auto", 8, {1024}, 5000);
  record.algorithm_chosen = "direct";
  record.choice_reason = "shared memory";
  record.measurement.warnings = {"foreign load: 38 %"};
  RunSummary summary;
  summary.planned = 9;
  summary.measured = 1;
  summary.stopped_by = "SIGINT";
  const std::string text = markdown({record}, {.reasons = true}, summary);
  EXPECT_THAT(text, HasSubstr("- auto on shm for 8 workers is direct: shared memory\n"));
  EXPECT_THAT(text, HasSubstr("- disturbed: 1 KiB auto on shm: foreign load: 38 %\n"));
  EXPECT_THAT(text, HasSubstr("- ended early after 1 of 9 cases: SIGINT\n"));
}

TEST(MarkdownReporterTest, QuietIsTheTableAlone) {
  TableStyle style;
  style.quiet = true;
  style.columns = {"size", "busbw"};
  EXPECT_EQ(markdown({scripted_record("ring", 2, {1000}, 1000)}, style),
            "| size | busbw (GB/s) |\n|--:|--:|\n| 1000 B | 1.000 |\n");
}

}  // namespace
}  // namespace collbench

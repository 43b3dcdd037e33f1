// Comparisons as Markdown, JUnit, OpenMetrics and annotations: what is in them, and that they keep
// within what their readers take.
#include "bench/reports/report_verdicts.h"

#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"
#include "tests/bench/report_verdicts.h"

#include "bench/reports/formats.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void write_as(std::string_view format, std::ostream& out, const Comparison& comparison) {
  report_format("format", format).comparison(out, comparison, {});
}

std::string comment_of(const Comparison& comparison, std::size_t most_bytes = most_comment_bytes) {
  std::ostringstream out;
  write_markdown(out, comparison, most_bytes);
  return out.str();
}

std::string annotations(const Comparison& comparison) {
  std::ostringstream out;
  write_annotations(out, comparison);
  return out.str();
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(VerdictMarkdownTest, BeginsWithWhatFailsAndShowsTheWorstFirst) {
  const std::string text =
      comment_of(scripted_comparison({scripted_verdict("a", VerdictOutcome::same, 1.0),
                                      scripted_verdict("b", VerdictOutcome::faster, 0.8),
                                      scripted_verdict("c", VerdictOutcome::slower, 1.2)}));
  EXPECT_THAT(text, HasSubstr("❌ **1 case fails.**"));
  EXPECT_LT(text.find("**slower**"), text.find("| faster |"));
  EXPECT_THAT(text, HasSubstr("+20.0 %"));
  EXPECT_THAT(text, HasSubstr("<details><summary>All 3 cases</summary>"));
}

TEST(VerdictMarkdownTest, SaysThatNothingFails) {
  EXPECT_THAT(comment_of(scripted_comparison({scripted_verdict("a", VerdictOutcome::same, 1.0)})),
              HasSubstr("✅ **No case fails.**"));
}

TEST(VerdictMarkdownTest, AGateThatPassesWithOpenCasesHasAMarkOfItsOwn) {
  const std::string text =
      comment_of(scripted_comparison({scripted_verdict("a", VerdictOutcome::same, 1.0),
                                      scripted_verdict("b", VerdictOutcome::inconclusive, 1.04)}));
  EXPECT_THAT(text, HasSubstr("🟣 **No case fails, 1 undecided.**"));
  EXPECT_THAT(text, Not(HasSubstr("✅")));
}

TEST(VerdictMarkdownTest, WhatWasNotComparedHasNoGreenMark) {
  const std::string other =
      comment_of(scripted_comparison({scripted_verdict("a", VerdictOutcome::env_mismatch, 1.99)}));
  EXPECT_THAT(other, HasSubstr("🟣 **No case fails, 1 undecided.**"));
  Verdict added = scripted_verdict("a", VerdictOutcome::added, 1);
  added.base.reset();
  added.ratio.reset();
  for (const Comparison& nothing : {scripted_comparison({}), scripted_comparison({added})}) {
    EXPECT_TRUE(compares_nothing(nothing));
    EXPECT_THAT(comment_of(nothing), AllOf(HasSubstr("Nothing was compared"), Not(HasSubstr("✅"))));
    std::ostringstream junit;
    write_as("junit", junit, nothing);
    EXPECT_THAT(junit.str(), HasSubstr("errors=\"1\""));
  }
}

TEST(VerdictTableTest, InconclusiveHasAColourOfItsOwn) {
  std::set<std::string> colours;
  for (const VerdictOutcome outcome :
       {VerdictOutcome::slower, VerdictOutcome::faster, VerdictOutcome::env_mismatch,
        VerdictOutcome::same, VerdictOutcome::inconclusive}) {
    const std::string text = comparison_text(
        scripted_comparison({scripted_verdict("a", outcome, 1.04)}), {.colour = true});
    const std::size_t line = text.find('\n') + 1;
    colours.insert(text.substr(line, text[line] == '\033' ? 5 : 0));
  }
  EXPECT_EQ(colours.size(), 5u);
}

TEST(VerdictTableTest, TheGateCanFailOnInconclusive) {
  Comparison comparison =
      scripted_comparison({scripted_verdict("a", VerdictOutcome::inconclusive, 1.04)});
  EXPECT_THAT(failures(comparison), testing::IsEmpty());
  comparison.rule.fail_on = {parse_outcome("inconclusive")};
  EXPECT_THAT(failures(comparison), testing::ElementsAre(&comparison.verdicts[0]));
  EXPECT_THAT(comment_of(comparison), HasSubstr("❌ **1 case fails.**"));
}

TEST(VerdictMarkdownTest, ANameCannotEndItsCellOrBecomeMarkup) {
  const std::string text =
      comment_of(scripted_comparison({scripted_verdict("x|<b>*", VerdictOutcome::slower, 1.2)}));
  EXPECT_THAT(text, HasSubstr("x\\|\\<b\\>\\*"));
}

TEST(VerdictMarkdownTest, ManyCasesStayWithinTheLimitAndSayHowManyAreLeftOut) {
  std::vector<Verdict> verdicts;
  for (int i = 0; i < 5000; ++i) {
    verdicts.push_back(scripted_verdict("case " + std::to_string(i), VerdictOutcome::same, 1.0));
  }
  verdicts[4000] = scripted_verdict("the slow one", VerdictOutcome::slower, 1.3);
  const std::string text = comment_of(scripted_comparison(verdicts));
  EXPECT_LE(text.size(), most_comment_bytes);
  EXPECT_GT(text.size(), most_comment_bytes / 2);
  EXPECT_THAT(text, AllOf(HasSubstr("the slow one"), HasSubstr("more rows did not fit here"),
                          HasSubstr("</details>"), HasSubstr("threshold")));
}

TEST(VerdictMarkdownTest, ATinyLimitIsKeptToo) {
  const Comparison comparison =
      scripted_comparison({scripted_verdict("a", VerdictOutcome::slower, 1.2)});
  for (const std::size_t most : {0U, 10U, 100U, 500U}) {
    EXPECT_LE(comment_of(comparison, most).size(), most);
  }
}

TEST(VerdictAnnotationsTest, FailuresAreErrorsAndUnclearOnesWarnings) {
  const std::string text = annotations(
      scripted_comparison({scripted_verdict("a,b:c", VerdictOutcome::slower, 1.2, "100 %\nsure"),
                           scripted_verdict("d", VerdictOutcome::inconclusive, 1.04)}));
  EXPECT_THAT(text, StartsWith("::error title=slower%3A a%2Cb%3Ac::100 %25%0Asure\n"));
  EXPECT_THAT(text, HasSubstr("::warning title=inconclusive%3A d::"));
  EXPECT_THAT(text, HasSubstr("::notice title="));
}

TEST(VerdictAnnotationsTest, AtMostTenOfAKindComeBecauseMoreAreNotShown) {
  std::vector<Verdict> verdicts;
  for (int i = 0; i < 25; ++i) {
    verdicts.push_back(scripted_verdict("case " + std::to_string(i), VerdictOutcome::slower, 1.2));
  }
  const std::string text = annotations(scripted_comparison(verdicts));
  EXPECT_EQ(count_of(text, "::error "), 10U);
  EXPECT_THAT(text, HasSubstr("::error title=and more::16 more cases"));
}

TEST(VerdictAnnotationsTest, WrongResultsOfRecordsAreErrorsAndRightOnesAreSilent) {
  Record right;
  right.point.backend = "shm";
  right.measurement.wrong = 0;
  Record wrong = right;
  wrong.point.algorithm = "tree";
  wrong.measurement.wrong = 3;
  std::ostringstream out;
  write_annotations(out, std::vector<Record>{right, wrong});
  EXPECT_THAT(out.str(), StartsWith("::error title=wrong%3A tree/"));
  EXPECT_THAT(out.str(), EndsWith("::3 elements differ from the exact result\n"));
  EXPECT_EQ(count_of(out.str(), "::error "), 1U);
}

TEST(VerdictJunitTest, OutcomesBecomeFailuresErrorsAndSkips) {
  std::ostringstream out;
  write_as("junit", out,
           scripted_comparison({scripted_verdict("a", VerdictOutcome::same, 1.0),
                                scripted_verdict("b", VerdictOutcome::slower, 1.2),
                                scripted_verdict("c", VerdictOutcome::wrong, 1.0),
                                scripted_verdict("d", VerdictOutcome::inconclusive, 1.04)}));
  EXPECT_THAT(out.str(), HasSubstr("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""));
  EXPECT_THAT(out.str(), HasSubstr("<failure type=\"slower\""));
  EXPECT_THAT(out.str(), HasSubstr("<error type=\"wrong\""));
}

TEST(VerdictJunitTest, CharactersThatXmlCannotHoldAreBlanks) {
  Comparison comparison = scripted_comparison({scripted_verdict("b", VerdictOutcome::slower, 1.2)});
  comparison.verdicts.front().reason = "lost \x1b[31m <rank> 3\nof 8";
  std::ostringstream out;
  write_as("junit", out, comparison);
  EXPECT_THAT(out.str(), HasSubstr("lost  [31m &lt;rank"));
  EXPECT_THAT(out.str(), HasSubstr("3 of 8"));
}

TEST(VerdictJunitTest, WhatIsNotUtf8OrNoCharacterOfXmlIsReplaced) {
  Comparison comparison =
      scripted_comparison({scripted_verdict("gr\xf6\xdf"
                                            "e \xef\xbf\xbe \xed\xa0\x80 ö",
                                            VerdictOutcome::slower, 1.2)});
  comparison.verdicts.front().point.backend = "";
  std::ostringstream out;
  write_as("junit", out, comparison);
  EXPECT_THAT(out.str(), HasSubstr("gr\uFFFD\uFFFDe \uFFFD\uFFFD\uFFFD \uFFFD\uFFFD\uFFFD ö"));
  EXPECT_THAT(out.str(), HasSubstr("classname=\"collbench\""));
}

TEST(ReportFormatTest, EachShowsRecordsOrIsThePage) {
  const Record record = scripted_record("ring", 8, {1 << 20}, 100'000);
  std::vector<std::string> without_records;
  for (const ReportFormat& format : report_formats()) {
    EXPECT_EQ(&report_format("--format", format.name), &format);
    if (format.records == nullptr) {
      without_records.emplace_back(format.name);
      continue;
    }
    std::ostringstream out;
    const auto reporter = format.records(out, FormatOptions());
    reporter->begin({}, {record.point});
    reporter->record(record);
    reporter->end({});
    EXPECT_NE(out.str(), "") << format.name;
  }
  EXPECT_THAT(without_records, testing::ElementsAre("html"));
  EXPECT_THROW(report_format("--format", "xml"), InvalidArgument);
}

TEST(VerdictJunitTest, WhatDoesNotFailTheGateIsNoFailure) {
  Comparison comparison = scripted_comparison({scripted_verdict("b", VerdictOutcome::slower, 1.2)});
  comparison.rule.fail_on.clear();
  std::ostringstream out;
  write_as("junit", out, comparison);
  EXPECT_THAT(out.str(), HasSubstr("failures=\"0\""));
}

TEST(VerdictOpenMetricsTest, OpenIntervalsAreLeftOut) {
  Verdict verdict = scripted_verdict("a \"b\"", VerdictOutcome::inconclusive, 1.04);
  verdict.ratio->high = std::numeric_limits<double>::infinity();
  std::ostringstream out;
  write_as("openmetrics", out, scripted_comparison({verdict}));
  EXPECT_THAT(out.str(),
              AllOf(EndsWith("# EOF\n"), Not(HasSubstr("inf")), HasSubstr("case=\"a \\\"b\\\"\""),
                    HasSubstr("collbench_verdicts{outcome=\"inconclusive\"} 1\n")));
}

}  // namespace
}  // namespace collbench

// `measured` and `oracle`: which rows of tables count, and whose times are joined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "heuristics/policies/policy.h"
#include "heuristics/policies/regret.h"

namespace collbench {
namespace {

using namespace literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MeasuredTime row(const char* algorithm, double us, const char* system = "here",
                 const char* library = "lib") {
  MeasuredTime time;
  time.system = system;
  time.library = library;
  time.algorithm = algorithm;
  time.scale = {8, 8};
  time.bytes = 1_KiB;
  time.time = time.low = time.high = Seconds{us * 1e-6};
  return time;
}

Answer answer_of(const char* policy, const std::vector<MeasuredTime>& times) {
  Question question;
  question.bytes = 1_KiB;
  question.workers = 8;
  question.nodes = 8;
  question.measured = times;
  return ask(find_policy(policy), question);
}

TEST(MeasuredPolicyTest, AWrongRowChoosesNothing) {
  std::vector<MeasuredTime> times{row("ring", 10), row("tree", 20)};
  times[0].wrong = 5;
  EXPECT_EQ(answer_of("measured", times).algorithm, "tree");
  EXPECT_EQ(answer_of("oracle", times).algorithm, "tree");
  const std::vector<MeasuredTime> judged{row("ring", 50), row("tree", 40)};
  for (const char* policy : {"measured", "largest-scale"}) {
    const auto points = regret_of(policy, judged, {.size_held_out = false, .fitted_to = times});
    ASSERT_EQ(points.size(), 1U);
    EXPECT_EQ(points[0].chosen, "tree") << policy;
  }
  times[1].wrong = 1;
  EXPECT_THROW(answer_of("measured", times), InvalidArgument);
}

TEST(MeasuredPolicyTest, OfRowsOfOnePointTheMedianCounts) {
  const std::vector<MeasuredTime> times{row("ring", 10), row("ring", 4), row("ring", 7),
                                        row("tree", 5)};
  const Answer answer = answer_of("oracle", times);
  EXPECT_EQ(answer.algorithm, "tree");
  EXPECT_NEAR(answer.candidates.back().time->count(), 7e-6, 1e-12);
  const std::vector<RegretPoint> points = regret_of("measured", times);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].best.algorithm, "tree");
  EXPECT_EQ(points[0].regret(), 0);
}

TEST(MeasuredPolicyTest, OfWhatWasMeasuredInPlaceTooTheTimesOutOfPlaceCount) {
  std::vector<MeasuredTime> times{row("ring", 4), row("ring", 7), row("tree", 5)};
  times[0].in_place = true;
  EXPECT_EQ(answer_of("measured", times).algorithm, "tree");
}

TEST(MeasuredPolicyTest, OfTwoNumbersOfWorkersAsNearTheLargerCounts) {
  std::vector<MeasuredTime> times{row("ring", 10), row("direct", 20), row("ring", 90),
                                  row("direct", 30)};
  for (std::size_t i = 0; i < times.size(); ++i) times[i].scale = {i < 2 ? 4 : 16, 0};
  for (int turn = 0; turn < 2; ++turn) {
    const Answer answer = answer_of("measured", times);
    EXPECT_EQ(answer.algorithm, "direct");
    EXPECT_THAT(answer.warnings,
                ElementsAre("8 workers were not measured; the times are those of 16, and 4 are as "
                            "near"));
    std::ranges::reverse(times);
  }
}

TEST(MeasuredPolicyTest, TimesOfTwoSystemsAreNotJoined) {
  const std::vector<MeasuredTime> times{row("ring", 10, "a"), row("tree", 20, "a"),
                                        row("tree", 1, "b")};
  const Answer answer = answer_of("measured", times);
  EXPECT_EQ(answer.algorithm, "ring");
  EXPECT_THAT(answer.warnings, ElementsAre("the measurements are of 2 systems; this is 'a', which "
                                           "has the most points"));
}

TEST(MeasuredPolicyTest, OfTwoLibrariesTheAnswerSaysWhose) {
  const std::vector<MeasuredTime> times{row("ring", 10, "a", "x"), row("ring", 30, "a", "y"),
                                        row("tree", 20, "a", "y")};
  const Answer answer = answer_of("measured", times);
  EXPECT_EQ(answer.library, "x");
  ASSERT_EQ(answer.candidates.size(), 3U);
  EXPECT_EQ(name_of(answer.candidates[2]), "y ring");
  EXPECT_THAT(answer.reason, HasSubstr("x ring with 10 us is 100 % ahead of y tree"));
  const Answer one = answer_of("measured", {times[1], times[2]});
  EXPECT_EQ(one.library, "") << "which goes without saying";
}

// Tables of nccl-tests, OSU and IMB name no algorithm.
TEST(MeasuredPolicyTest, ALibrarysOwnChoiceIsACandidateButNotThatOfABackEndOfOurs) {
  std::vector<MeasuredTime> times{row("auto", 10)};
  EXPECT_EQ(answer_of("auto", times).algorithm, "auto");
  Question question;
  question.bytes = 1_KiB;
  question.workers = question.nodes = 8;
  question.backend = "lib";
  times.push_back(row("ring", 20));
  question.measured = times;
  EXPECT_EQ(ask(find_policy("measured"), question).algorithm, "ring");
}

TEST(MeasuredPolicyTest, WhereNothingIsKnownOfTheScaleThatIsSaid) {
  const std::vector<MeasuredTime> times{row("ring", 10)};
  Question question;
  question.bytes = 1_KiB;
  question.workers = 8;
  question.nodes = 4;
  question.measured = times;
  try {
    ask(find_policy("auto"), question);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("8 workers on 4 nodes were not measured"));
  }
}

TEST(MeasuredPolicyTest, OtherCollectivesAreJudgedByTheirOwnRows) {
  std::vector<MeasuredTime> times{row("ring", 10), row("tree", 20), row("ring", 30),
                                  row("recursive-doubling", 20)};
  times[2].collective = times[3].collective = CollectiveKind::all_gather;
  for (const char* policy : {"oracle", "measured"}) {
    const std::vector<RegretPoint> points = regret_of(policy, times);
    ASSERT_EQ(points.size(), 2U) << policy;
    EXPECT_EQ(points[0].chosen, "ring");
    EXPECT_EQ(points[1].chosen, "recursive-doubling") << "which ours does not have, but theirs";
    EXPECT_EQ(points[1].regret(), 0);
  }
}

}  // namespace
}  // namespace collbench

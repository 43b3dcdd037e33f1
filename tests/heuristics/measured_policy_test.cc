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
using testing::Pair;

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

/// 64 nodes, on whose two shapes different algorithms are the fastest.
std::vector<MeasuredTime> rows_of_two_shapes() {
  std::vector<MeasuredTime> times{row("ring", 10), row("tree", 20), row("ring", 50),
                                  row("tree", 40)};
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i].scale = {64, 64, i < 2 ? GridShape{4, 4, 4} : GridShape{2, 2, 16}};
  }
  return times;
}

TEST(MeasuredPolicyTest, TimesOfAnotherShapeAreNotThoseOfTheShapeAskedFor) {
  const std::vector<MeasuredTime> times = rows_of_two_shapes();
  Question question;
  question.bytes = 1_KiB;
  question.workers = question.nodes = 64;
  question.measured = times;
  for (const char* policy : {"oracle", "measured"}) {
    question.shape = {4, 4, 4};
    EXPECT_EQ(ask(find_policy(policy), question).algorithm, "ring") << policy;
    question.shape = {2, 2, 16};
    const Answer answer = ask(find_policy(policy), question);
    EXPECT_EQ(answer.algorithm, "tree") << policy;
    EXPECT_NEAR(answer.candidates.front().time->count(), 40e-6, 1e-12);
    EXPECT_THAT(answer.warnings, IsEmpty());
    for (const RegretPoint& point : regret_of(policy, times)) EXPECT_EQ(point.regret(), 0);
  }
  question.shape = {2, 4, 8};
  EXPECT_THROW(ask(find_policy("oracle"), question), InvalidArgument);
  EXPECT_THAT(ask(find_policy("measured"), question).warnings,
              ElementsAre("measured on 2x2x16 nodes, not on 2x4x8 nodes"));
  question.shape = {};
  EXPECT_THAT(ask(find_policy("measured"), question).warnings,
              ElementsAre(HasSubstr("2x2x16 nodes of 2 kinds")));
}

TEST(MeasuredPolicyTest, TimesOnOtherCoresAreNotMeasuredHere) {
  std::vector<MeasuredTime> times{row("ring", 10, "", "shm"), row("tree", 20, "", "shm")};
  for (MeasuredTime& each : times) each.scale = {2, 1, {}, 2};
  Question question;
  question.bytes = 1_KiB;
  question.workers = 2;
  question.backend = "shm";
  question.measured = times;
  question.cores = 2;
  EXPECT_THAT(ask(find_policy("auto"), question).reason, HasSubstr("measured: ring"));
  question.cores = 64;
  const Answer rule = ask(find_policy("auto"), question);
  EXPECT_THAT(rule.warnings,
              Contains("2 workers on 64 cores were not measured; the tables do not count"));
  for (MeasuredTime& each : times) each.scale.cores = 64;
  question.cores = 2;
  EXPECT_THAT(ask(find_policy("auto"), question).warnings,
              Contains("2 workers on 2 cores were not measured; the tables do not count, but the "
                       "times built in"));
  for (MeasuredTime& each : times) each.scale.cores = 2;
  question.cores = 64;
  EXPECT_THAT(ask(find_policy("measured"), question).warnings,
              ElementsAre("measured on 2 cores, not on 64 cores"));
}

TEST(MeasuredPolicyTest, ANameThatIsAvailableStandsForWhatWasMeasuredUnderAnother) {
  const std::vector<MeasuredTime> times{row("ring_ompi", 10), row("recursive_doubling_ompi", 20)};
  Question question;
  question.bytes = 1_KiB;
  question.workers = question.nodes = 8;
  question.measured = times;
  question.available = {"recursive-doubling", "ring"};
  EXPECT_EQ(ask(find_policy("measured"), question).algorithm, "ring");
  EXPECT_THAT(
      listed_names(
          {{"allreduce_nccl_ring", {9, 9}},
           {"rabenseifner_mpich", {0, 90}},
           {"rabenseifner_over", {5, 20}},
           {"recursive_doubling_mpich", {0, 3}},
           {"recursive_doubling_over", {0, 2}},
           {"default-ring", {1, 1}}},
          std::vector<std::string>{"ring", "recursive-doubling", "tree", "halving-doubling"}),
      ElementsAre(Pair("default-ring", "ring"), Pair("rabenseifner_over", "halving-doubling"),
                  Pair("recursive_doubling_mpich", "recursive-doubling")));
  question.available = {"recursive-doubling", "ring_ompi"};
  EXPECT_EQ(ask(find_policy("measured"), question).algorithm, "ring_ompi");
}

TEST(MeasuredPolicyTest, OnHowManyNodesElseIsSaid) {
  const std::vector<MeasuredTime> times{row("ring", 10)};
  Question question;
  question.bytes = 1_KiB;
  question.workers = 8;
  question.measured = times;
  EXPECT_THROW(
      {
        try {
          ask(find_policy("measured"), question);
        } catch (const InvalidArgument& error) {
          EXPECT_THAT(error.what(),
                      HasSubstr("on 1 node; they are on 8 nodes: name one by --nodes"));
          throw;
        }
      },
      InvalidArgument);
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

TEST(MeasuredPolicyTest, RowsThatDoNotSayWhereTheyAreFromGiveWayToThoseOfThePlaceAskedFor) {
  std::vector<MeasuredTime> times{row("ring", 10), row("ring", 30), row("tree", 20)};
  for (const auto& [vague, stated] : {std::pair{Scale{64, 64}, Scale{64, 64, {4, 4, 4}}},
                                      {Scale{64, 1}, Scale{64, 1, {}, 8}},
                                      {Scale{64, 0}, Scale{64, 8}}}) {
    times[0].scale = vague;
    times[1].scale = times[2].scale = stated;
    Question question;
    question.bytes = 1_KiB;
    question.workers = 64;
    question.nodes = stated.nodes;
    question.shape = stated.shape;
    question.cores = stated.cores;
    question.measured = times;
    EXPECT_EQ(ask(find_policy("measured"), question).algorithm, "tree") << to_string(stated);
  }
}

TEST(MeasuredPolicyTest, TheChoiceIsAmongWhatOneLibraryHas) {
  const std::vector<MeasuredTime> times{row("ring", 1, "a", "nccl"), row("ring_ompi", 30, "a"),
                                        row("recursive_doubling_ompi", 20, "a")};
  Question question;
  question.bytes = 1_KiB;
  question.workers = question.nodes = 8;
  question.measured = times;
  EXPECT_EQ(ask(find_policy("measured"), question).library, "nccl");
  question.available = {"ring", "recursive-doubling"};
  const Answer answer = ask(find_policy("measured"), question);
  EXPECT_EQ(answer.algorithm, "recursive-doubling");
  EXPECT_THAT(answer.warnings,
              ElementsAre("left out: nccl, of which fewer names are available than of lib"));
}

TEST(MeasuredPolicyTest, WhatWasNotMeasuredSaysItsShape) {
  const std::vector<MeasuredTime> times = rows_of_two_shapes();
  Question question;
  question.bytes = 1_KiB;
  question.workers = question.nodes = 64;
  question.shape = {2, 4, 8};
  question.measured = times;
  EXPECT_THAT([&] { ask(find_policy("oracle"), question); },
              testing::ThrowsMessage<InvalidArgument>(
                  HasSubstr("1 KiB with 64 workers on 2x4x8 nodes is none of them")));
}

}  // namespace
}  // namespace collbench

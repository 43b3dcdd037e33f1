// Choices by a calibration: which measurements a prediction may overrule.
#include "heuristics/calibration/fitted_choice.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Times of a known method over many sizes: rounds of 5 us, and bytes.
std::vector<MeasuredTime> rows_on(int nodes, const std::string& algorithm, double slower = 1,
                                  const std::string& system = "made") {
  std::vector<MeasuredTime> rows;
  for (std::int64_t bytes = 256; bytes <= 256 << 20; bytes *= 8) {
    MeasuredTime row;
    row.system = system;
    row.library = "OMPI 4.1.5";
    row.algorithm = algorithm;
    row.scale = {nodes, nodes};
    row.bytes = Bytes{bytes};
    const double rounds = algorithm == "ring_ompi" ? 2.0 * nodes : 8;
    row.time = Seconds{slower * (5e-6 * rounds + 2e-10 * static_cast<double>(bytes))};
    rows.push_back(row);
  }
  return rows;
}

void append(const std::vector<MeasuredTime>& more, std::vector<MeasuredTime>& rows) {
  rows.insert(rows.end(), more.begin(), more.end());
}

std::vector<FittedCandidate> ranked_of(const std::vector<MeasuredTime>& rows, const Scale& scale,
                                       Bytes bytes) {
  const Calibration calibration(rows);
  std::vector<MethodKey> methods;
  for (const MeasuredMethod& each : calibration.measured()) {
    if (each.method.system == "made") methods.push_back(each.method);
  }
  return rank_methods(calibration, methods, scale, bytes);
}

/// What the choice on 64 nodes is for each size.
std::vector<std::string> choices_of(const std::vector<MeasuredTime>& rows) {
  std::vector<std::string> choices;
  for (std::int64_t bytes = 256; bytes <= 256 << 20; bytes *= 8) {
    const FittedCandidate first = ranked_of(rows, {64, 64}, Bytes{bytes}).front();
    choices.push_back(first.method.algorithm + (first.is_kept ? ", kept" : ""));
  }
  return choices;
}

TEST(FittedChoiceTest, RowsOfAnotherSystemAtTheScaleDoNotMakeItMeasured) {
  std::vector<MeasuredTime> rows;
  append(rows_on(16, "recursive_doubling_ompi", 1.01), rows);
  append(rows_on(16, "rabenseifner_ompi"), rows);
  append(rows_on(16, "ring_ompi", 0.8), rows);
  const std::vector<std::string> before = choices_of(rows);
  EXPECT_GT(std::ranges::count(before, "ring_ompi, kept"), 0);
  append(rows_on(64, "ring_ompi", 1, "another"), rows);
  EXPECT_EQ(choices_of(rows), before);
}

TEST(FittedChoiceTest, AMeasurementAtTheScaleIsOverruledOnlyByWhatIsSurelyFaster) {
  const auto first_with = [](double ring) {
    std::vector<MeasuredTime> rows;
    append(rows_on(16, "ring_ompi"), rows);
    append(rows_on(16, "rabenseifner_ompi"), rows);
    const Seconds predicted = ranked_of(rows, {64, 64}, Bytes{1 << 20}).front().estimate.time;
    std::vector<MeasuredTime> there = rows_on(64, "ring_ompi");
    for (MeasuredTime& row : there) {
      row.time = predicted * (ring * static_cast<double>(row.bytes.count) / (1 << 20));
      if (row.bytes.count < 1 << 20) row.time = predicted * ring;
    }
    append(there, rows);
    return ranked_of(rows, {64, 64}, Bytes{1 << 20}).front();
  };
  EXPECT_EQ(first_with(1.02).method.algorithm, "ring_ompi");
  EXPECT_EQ(first_with(20).method.algorithm, "rabenseifner_ompi");
}

TEST(FittedChoiceTest, OfScalesOfAsManyRanksTheShapeAskedForOrAlwaysTheSameOneCounts) {
  std::vector<MeasuredTime> rows;
  for (const GridShape& shape : {GridShape{4, 4, 4}, GridShape{2, 2, 16}}) {
    MeasuredTime row = rows_on(64, "ring_ompi").front();
    row.scale.shape = shape;
    rows.push_back(row);
  }
  for (int turn = 0; turn < 2; ++turn) {
    const auto shape_for = [&](const GridShape& shape) {
      return times_at_largest_scale(rows, "made", {64, 64, shape}, Bytes{256}).at(0).scale.shape;
    };
    EXPECT_EQ(shape_for({2, 2, 16}), (GridShape{2, 2, 16}));
    EXPECT_EQ(shape_for({4, 4, 4}), (GridShape{4, 4, 4}));
    EXPECT_EQ(shape_for({8, 8, 1}), (GridShape{4, 4, 4}));
    std::ranges::reverse(rows);
  }
}

/// Of a method without a structure: GPUs, eight on each node.
std::vector<MeasuredTime> trend_of(const std::string& library, const std::string& algorithm,
                                   double slower = 1, const std::string& system = "made") {
  std::vector<MeasuredTime> rows;
  for (const int nodes : {2, 4}) {
    for (MeasuredTime& row : rows_on(nodes, algorithm, slower, system)) {
      row.library = library;
      row.scale.ranks = 8 * nodes;
      rows.push_back(row);
    }
  }
  return rows;
}

/// Of a question about 1 MiB on 4 nodes, or about as many of one rank each.
Answer answer_of(const std::vector<MeasuredTime>& rows, std::vector<std::string> available,
                 int each = 1, const Question& like = {}) {
  const Calibration calibration(rows);
  Question question = like;
  question.bytes = Bytes{1 << 20};
  question.nodes = 4;
  question.workers = 4 * each;
  question.available = std::move(available);
  question.fitted = &calibration;
  std::string why_not;
  const std::optional<Answer> answer = ask_fitted(question, why_not);
  return answer ? *answer : Answer{"none", "", why_not, {}, {}};
}

std::vector<std::string> refused_in(const Answer& answer) {
  std::vector<std::string> refused;
  for (const Candidate& each : answer.candidates) {
    if (!each.refused.empty()) refused.push_back(name_of(each) + ": " + each.refused);
  }
  return refused;
}

TEST(FittedChoiceTest, TheTimeOfALibrarysOwnChoiceIsNoPriceOfAnother) {
  const std::vector<MeasuredTime> rows = trend_of("openmpi 4.1.5", "auto");
  const Answer answer = answer_of(rows, {"linear", "ring", "auto"}, 8);
  EXPECT_EQ(answer.algorithm, "auto");
  EXPECT_THAT(refused_in(answer), ElementsAre("linear: not priced by the fit at this scale",
                                              "ring: not priced by the fit at this scale"));
  EXPECT_EQ(answer_of(rows, {"linear", "ring"}, 8).reason, "the fit cannot price linear, ring");
}

TEST(FittedChoiceTest, OfLibrariesThatAreAvailableByNameEachOnesOwnTimeCounts) {
  std::vector<MeasuredTime> rows = trend_of("nccl", "auto");
  append(trend_of("mpi", "auto", 8), rows);
  const Answer answer = answer_of(rows, {"mpi", "nccl"}, 8);
  EXPECT_EQ(answer.algorithm, "nccl");
  ASSERT_EQ(answer.candidates.size(), 2U);
  EXPECT_NEAR(*answer.candidates[1].time / *answer.candidates[0].time, 8, 0.1);
}

TEST(FittedChoiceTest, OfTwoNamesForOneThatIsAvailableTheOneMeasuredThereCounts) {
  std::vector<MeasuredTime> rows = rows_on(8, "rabenseifner_mpich");
  append(rows_on(8, "rabenseifner_over"), rows);
  append(rows_on(4, "rabenseifner_over"), rows);
  append(rows_on(4, "ring_ompi", 2), rows);
  const Answer answer = answer_of(rows, {"ring", "rabenseifner"});
  EXPECT_EQ(answer.algorithm, "rabenseifner");
  EXPECT_THAT(answer.warnings, IsEmpty()) << "of scales that were not measured";
  EXPECT_THAT(refused_in(answer_of(rows, {"ring", "ring_ompi"})),
              ElementsAre("ring: measured as ring_ompi"));
}

TEST(FittedChoiceTest, OfSeveralSystemsOneThatWasMeasuredThereIsAsked) {
  std::vector<MeasuredTime> rows;
  for (const int nodes : {8, 16, 32}) append(rows_on(nodes, "ring_ompi"), rows);
  append(rows_on(4, "rabenseifner_ompi", 2, "small"), rows);
  const Answer answer = answer_of(rows, {});
  EXPECT_THAT(answer.reason, HasSubstr("by the fit to small"));
  EXPECT_THAT(answer.warnings, Contains(HasSubstr("'small', the only one measured on as many")));
}

TEST(FittedChoiceTest, NamesOfTheLibraryThatHasMostOfThemCount) {
  std::vector<MeasuredTime> rows = rows_on(4, "ring_ompi");
  append(rows_on(4, "recursive_doubling_ompi", 2), rows);
  for (MeasuredTime row : rows_on(4, "ring", 0.1)) {
    row.library = "nccl";
    rows.push_back(row);
  }
  const Answer answer = answer_of(rows, {"ring", "recursive-doubling"});
  EXPECT_THAT(refused_in(answer), IsEmpty());
  EXPECT_GT(*answer.candidates.front().time, Seconds{200e-6}) << "which is not NCCL's";
  EXPECT_THAT(answer.warnings, Contains(HasSubstr("left out: nccl")));
}

TEST(FittedChoiceTest, WhatMakesReplicasDifferIsRefusedThoughItWasMeasured) {
  std::vector<MeasuredTime> rows = rows_on(4, "ring");
  append(rows_on(4, "swing:latency", 0.1), rows);
  for (MeasuredTime& row : rows) row.library = "grpc";
  const Answer answer = answer_of(rows, {"ring", "swing:latency"});
  EXPECT_EQ(answer.algorithm, "ring");
  EXPECT_THAT(refused_in(answer), ElementsAre("swing:latency: replicas would differ in rounding"));
}

TEST(FittedChoiceTest, AFitOfOneCollectiveSaysNothingOfAnother) {
  std::vector<MeasuredTime> rows = trend_of("nccl", "ring");
  for (MeasuredTime& row : rows) row.collective = CollectiveKind::all_gather;
  EXPECT_EQ(Calibration(rows).find(method_of(trend_of("nccl", "ring").front())), nullptr);
  EXPECT_EQ(answer_of(rows, {"ring"}, 8).reason, "no all-reduce was measured");
  Question gather;
  gather.collective = CollectiveKind::all_gather;
  EXPECT_EQ(answer_of(rows, {"ring"}, 8, gather).algorithm, "ring");
}

TEST(FittedChoiceTest, AnotherTypeIsLessSure) {
  const auto width_of = [](const std::vector<MeasuredTime>& rows, int each, DataType type) {
    const Calibration calibration(rows);
    std::vector<MethodKey> methods{calibration.measured().front().method};
    const auto ranked = rank_methods(calibration, methods, {4 * each, 4}, Bytes{1 << 20},
                                     ReductionAsked{type, ReduceOp::sum});
    return std::log(ranked.at(0).estimate.high / ranked.at(0).estimate.low) / (2 * 1.2816);
  };
  for (const auto& [rows, each] :
       {std::pair{rows_on(4, "ring_ompi"), 1}, {trend_of("nccl", "auto"), 8}}) {
    EXPECT_LT(width_of(rows, each, DataType::f32), 0.1);
    EXPECT_NEAR(width_of(rows, each, DataType::f64), 0.455, 0.01);
  }
}

TEST(FittedChoiceTest, NothingIsCommonToATimeThatWasMeasuredAndOneThatWasNot) {
  // On 64 nodes the ring was measured, ever slower, until Rabenseifner is surely faster.
  const auto deviation = [](const FittedCandidate& each) {
    return std::log(each.estimate.high / each.estimate.low) / (2 * 1.2816);
  };
  std::vector<MeasuredTime> rows = rows_on(16, "ring_ompi");
  append(rows_on(16, "rabenseifner_ompi"), rows);
  double lead = 0;
  for (double slower = 0.3; slower < 10 && lead == 0; slower *= 1.03) {
    std::vector<MeasuredTime> all = rows;
    append(rows_on(64, "ring_ompi", slower), all);
    const auto ranked = ranked_of(all, {64, 64}, Bytes{1 << 20});
    ASSERT_EQ(ranked.size(), 2U);
    if (ranked[0].method.algorithm == "ring_ompi") continue;
    lead = std::log(ranked[1].counted / ranked[0].counted) /
           std::hypot(deviation(ranked[0]), deviation(ranked[1]));
  }
  EXPECT_NEAR(lead, 1.28, 0.2) << "standard deviations of the difference";
  EXPECT_GT(lead, 1.28);
}

}  // namespace
}  // namespace collbench

// Calibrations judged on what they did not see: which rows are held out, which model stands in for
// which method, and the figures that sum the errors up.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "heuristics/calibration/calibration.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct MadeCurve {
  std::string library = "nccl";
  std::string algorithm = "auto";
  Scale scale = {8, 2};
  double slower = 1;
  std::int64_t first = 1 << 10;
  std::int64_t last = 1 << 26;
};

/// Fourfold sizes of a latency of 20 us and 10 GB/s.
std::vector<MeasuredTime> rows_of(const std::vector<MadeCurve>& curves) {
  std::vector<MeasuredTime> rows;
  for (const MadeCurve& curve : curves) {
    for (std::int64_t bytes = curve.first; bytes <= curve.last; bytes *= 4) {
      MeasuredTime row;
      row.system = "made";
      row.library = curve.library;
      row.algorithm = curve.algorithm;
      row.scale = curve.scale;
      row.bytes = Bytes{bytes};
      row.time = Seconds{curve.slower * (20e-6 + static_cast<double>(bytes) / 10e9)};
      rows.push_back(row);
    }
  }
  return rows;
}

MethodKey key(const char* library, const char* algorithm, const char* protocol = "",
              DataType type = DataType::f32, ReduceOp op = ReduceOp::sum) {
  return {"made", library, algorithm, protocol, type, op, false};
}

TEST(ErrorSummaryTest, QuantilesAreInterpolatedAndSignsDoNotCount) {
  const ErrorSummary none = summarize_errors({});
  EXPECT_EQ(none.points, 0);
  EXPECT_EQ(none.within, -1);
  struct Row {
    std::vector<double> errors;
    double median, p90, worst;
  };
  for (const Row& row : {Row{{-0.5}, 0.5, 0.5, 0.5}, Row{{0.1, -0.3}, 0.2, 0.28, 0.3},
                         Row{{0.3, -0.1, 0.2}, 0.2, 0.28, 0.3},
                         Row{{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, -1}, 0.5, 0.9, 1}}) {
    const ErrorSummary summary = summarize_errors(row.errors);
    EXPECT_EQ(summary.points, std::ssize(row.errors));
    EXPECT_NEAR(summary.median, row.median, 1e-12);
    EXPECT_NEAR(summary.p90, row.p90, 1e-12);
    EXPECT_EQ(summary.worst, row.worst);
  }
}

TEST(HeldOutTest, SummariesLookAtTheSizesAskedAndAtTheInterval) {
  std::vector<HeldOut> held;
  for (int i = 0; i < 10; ++i) {
    HeldOut point;
    point.measured.bytes = Bytes{std::int64_t{1} << i};
    point.measured.time = Seconds{1.0};
    point.predicted = {Seconds{1 + 0.1 * i}, Seconds{0.8 + 0.1 * i}, Seconds{2.0}, ""};
    held.push_back(point);
  }
  EXPECT_NEAR(held[3].error(), 0.3, 1e-12);
  const ErrorSummary all = summarize_held_out(held);
  EXPECT_EQ(all.points, 10);
  EXPECT_NEAR(all.within, 0.2, 0.101) << "low ends at 0.8, 0.9 and 1.0";
  const ErrorSummary some = summarize_held_out(held, Bytes{4}, Bytes{16});
  EXPECT_EQ(some.points, 3);
  EXPECT_NEAR(some.median, 0.3, 1e-12);
  EXPECT_NEAR(some.worst, 0.4, 1e-12);
  EXPECT_EQ(summarize_held_out(held, Bytes{1000}).points, 0);
}

TEST(HeldOutTest, EveryScaleButSingleNodesIsPredictedFromTheOthers) {
  const std::vector<MeasuredTime> rows =
      rows_of({{.scale = {4, 1}}, {.scale = {8, 2}}, {.scale = {16, 4}}, {.scale = {32, 8}}});
  const auto scales = [&](bool single_nodes) {
    std::vector<std::string> notes;
    std::vector<int> nodes;
    for (const HeldOut& point : leave_one_scale_out(rows, single_nodes, notes)) {
      if (nodes.empty() || nodes.back() != point.measured.scale.nodes) {
        nodes.push_back(point.measured.scale.nodes);
      }
    }
    EXPECT_THAT(notes, IsEmpty());
    return nodes;
  };
  EXPECT_THAT(scales(false), ElementsAre(2, 4, 8));
  EXPECT_THAT(scales(true), ElementsAre(1, 2, 4, 8));
}

TEST(HeldOutTest, PredictionsDoNotDependOnTheTimesHeldOut) {
  std::vector<MeasuredTime> rows =
      rows_of({{.scale = {8, 2}}, {.scale = {16, 4}}, {.scale = {32, 8}}});
  std::vector<std::string> notes;
  const std::vector<HeldOut> before = leave_one_scale_out(rows, false, notes);
  for (MeasuredTime& row : rows) {
    if (row.scale.nodes == 4) row.time *= 7;
  }
  const std::vector<HeldOut> after = leave_one_scale_out(rows, false, notes);
  ASSERT_EQ(before.size(), rows.size());
  ASSERT_EQ(after.size(), rows.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool changed = before[i].measured.scale.nodes == 4;
    EXPECT_EQ(after[i].predicted.time == before[i].predicted.time, changed) << i;
  }
}

TEST(HeldOutTest, AnOnlyScaleCannotBeHeldOutAndIsNamed) {
  std::vector<std::string> notes;
  EXPECT_THAT(leave_one_scale_out(rows_of({{}}), false, notes), IsEmpty());
  EXPECT_THAT(notes, ElementsAre(AllOf(HasSubstr("8 ranks on 2 nodes of made"),
                                       HasSubstr("no other scale"))));
}

TEST(HeldOutTest, ALibrarysOwnChoiceStandsForAnAlgorithmButNoneForAnother) {
  struct Row {
    const char* held;
    const char* known;
    bool predicted;
  };
  for (const Row& row : {Row{"ring", "ring", true}, Row{"ring", "auto", true},
                         Row{"auto", "ring", true}, Row{"ring", "tree", false}}) {
    std::vector<std::string> notes;
    const std::vector<HeldOut> held =
        leave_one_scale_out(rows_of({{.algorithm = row.held, .scale = {8, 2}},
                                     {.algorithm = row.known, .scale = {16, 4}}}),
                            false, notes);
    const auto count = std::count_if(held.begin(), held.end(), [](const HeldOut& point) {
      return point.measured.scale.nodes == 2;
    });
    EXPECT_EQ(count > 0, row.predicted) << row.held << " by " << row.known;
  }
}

TEST(HeldOutTest, WhatTheOthersDoNotPredictIsCounted) {
  std::vector<MeasuredTime> rows = rows_of({{.scale = {8, 2}}, {.scale = {16, 4}}});
  for (MeasuredTime& row : rows_of({{.library = "mpi", .scale = {8, 2}}})) rows.push_back(row);
  std::vector<std::string> notes;
  const std::size_t each = rows.size() / 3;
  EXPECT_EQ(leave_one_scale_out(rows, false, notes).size(), 2 * each);
  EXPECT_THAT(
      notes, Contains(AllOf(HasSubstr(fmt::format("8 ranks on 2 nodes of made: {} of {} rows", each,
                                                  2 * each)),
                            HasSubstr("the others say nothing of 'made mpi auto'"))));
  notes.clear();
  std::erase_if(rows, [&](const MeasuredTime& row) {  // four sizes: none can be left out
    return row.bytes > rows[3].bytes;
  });
  EXPECT_THAT(leave_one_size_out(rows, notes), IsEmpty());
  EXPECT_THAT(notes, ElementsAre(AllOf(HasSubstr("sizes of made: not held out"),
                                       HasSubstr("at least 4 are needed"))));
}

TEST(HeldOutTest, ASingleNodeOfManyRanksBesideSeveralNodesIsNotHeldOut) {
  std::vector<std::string> notes;
  const std::vector<HeldOut> points = leave_one_scale_out(
      rows_of({{.scale = {2, 2}}, {.scale = {4, 4}}, {.scale = {16, 1}}}), false, notes);
  ASSERT_FALSE(points.empty());
  for (const HeldOut& point : points) EXPECT_GT(point.measured.scale.nodes, 1);
}

TEST(HeldOutTest, WrongResultsAreNeitherKnownNorHeldOut) {
  std::vector<MeasuredTime> rows = rows_of({{.scale = {8, 2}}, {.scale = {16, 4}}});
  const std::size_t good = rows.size();
  for (MeasuredTime& row : rows_of({{.scale = {8, 2}, .slower = 100}})) {
    row.wrong = 1;
    rows.push_back(row);
  }
  std::vector<std::string> notes;
  EXPECT_EQ(leave_one_scale_out(rows, false, notes).size(), good);
  EXPECT_EQ(leave_one_size_out(rows, notes).size(), good);
  EXPECT_LT(summarize_held_out(leave_one_size_out(rows, notes)).worst, 0.5);
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(Calibration(rows).models().front().points().size(), good);
}

TEST(CalibrationTest, TakesTheMethodThatSharesTheMostThatMatters) {
  std::vector<MeasuredTime> rows = rows_of({{}, {.algorithm = "ring"}, {.library = "mpi"}});
  for (MeasuredTime& row : rows_of({{.algorithm = "tree"}})) {
    row.protocol = "LL";
    rows.push_back(row);
  }
  for (MeasuredTime& row : rows_of({{.algorithm = "tree", .scale = {4, 1}}})) {
    row.type = DataType::f64;
    rows.push_back(row);
  }
  const Calibration calibration(rows);
  struct Row {
    MethodKey asked;
    const char* found;
    bool itself;
  };
  for (const Row& row :
       {Row{key("nccl", "ring"), "made nccl ring", true},
        Row{key("nccl", "ring", "LL"), "made nccl ring", false},
        Row{key("nccl", "tree", "LL"), "made nccl tree LL", true},
        Row{key("nccl", "tree"), "made nccl tree f64", false},
        Row{key("nccl", "tree", "LL", DataType::f64), "made nccl tree LL", false},
        Row{key("nccl", "ring", "", DataType::f32, ReduceOp::max), "made nccl ring", false},
        Row{key("mpi", "ring"), "made mpi auto", false},
        Row{{"", "mpi", "", "", DataType::f32, ReduceOp::sum, false}, "made mpi auto", true}}) {
    std::string instead;
    const MethodModel* model = calibration.find(row.asked, &instead);
    ASSERT_NE(model, nullptr) << to_string(row.asked);
    EXPECT_EQ(to_string(model->method()), row.found) << to_string(row.asked);
    EXPECT_EQ(instead.empty(), row.itself) << to_string(row.asked) << ": " << instead;
  }
  EXPECT_EQ(calibration.find({"other", "nccl", "ring", "", {}, {}, false}), nullptr);
}

TEST(CalibrationTest, MoreRowsOfAnotherAlgorithmDoNotHideTheLibrarysOwnChoice) {
  std::vector<MeasuredTime> rows = rows_of({{}});
  for (const Scale& scale : {Scale{8, 2}, Scale{16, 4}}) {
    for (MeasuredTime& row : rows_of({{.algorithm = "ring", .scale = scale}})) rows.push_back(row);
  }
  std::string instead;
  const auto estimate =
      Calibration(rows).estimate(key("nccl", "tree"), {8, 2}, Bytes{1 << 20}, &instead);
  ASSERT_TRUE(estimate.has_value());
  EXPECT_THAT(instead, HasSubstr("predicted as 'made nccl auto'"));
}

TEST(CalibrationTest, AnUnknownSystemIsPredictedAsTheOneThatHasItsMethodAndTheNoteNamesIt) {
  // The first system has other methods only; the second one has the ring, and is slower.
  std::vector<MeasuredTime> rows;
  for (const auto& [system, algorithm, slower] :
       {std::tuple{"a", "recursive_doubling_ompi", 1.0}, {"b", "ring_ompi", 10.0}}) {
    for (const int nodes : {4, 8}) {
      for (MeasuredTime& row : rows_of({{"OMPI 4.1.5", algorithm, {nodes, nodes}, slower}})) {
        row.system = system;
        rows.push_back(row);
      }
    }
  }
  const Calibration calibration(rows);
  ASSERT_EQ(calibration.structures().size(), 2U);
  MethodKey ring = key("OMPI 4.1.5", "ring_ompi");
  ring.system.clear();
  std::string instead;
  const auto any = calibration.estimate(ring, {8, 8}, Bytes{1 << 20}, &instead);
  EXPECT_THAT(instead, HasSubstr("predicted as those of 'b'"));
  ring.system = "b";
  EXPECT_EQ(any->time, calibration.estimate(ring, {8, 8}, Bytes{1 << 20})->time);
}

TEST(CalibrationTest, RepeatsAreOnePointInAFileAndBeforeItIsWritten) {
  // Four points of a known method, each twice, are fewer than a structure needs.
  std::vector<MeasuredTime> rows;
  for (int turn = 0; turn < 2; ++turn) {
    for (std::int64_t bytes = 1 << 10; bytes <= 1 << 22; bytes *= 16) {
      MeasuredTime row = rows_of({{.library = "OMPI 4.1.5", .algorithm = "ring_ompi"}}).front();
      row.scale = {8, 8};
      row.bytes = Bytes{bytes};
      row.time = Seconds{10e-6 + static_cast<double>(bytes) / 1e9};
      rows.push_back(row);
    }
  }
  EXPECT_THAT(Calibration(rows).structures(), IsEmpty());
}

TEST(CalibrationTest, OneRankMeasuresNothing) {
  EXPECT_THROW(Calibration(rows_of({{.scale = {1, 1}}})), InvalidArgument);
}

TEST(CalibrationTest, AMethodNeedsFourSizesThatSpanSixteenTimes) {
  struct Row {
    std::int64_t first, last;
    bool fitted;
  };
  for (const Row& row :
       {Row{1024, 1024 << 4, false}, Row{1024, 1024 << 6, true}, Row{1024, 1024 << 8, true}}) {
    std::vector<MeasuredTime> rows =
        rows_of({{}, {.algorithm = "ring", .first = row.first, .last = row.last}});
    const Calibration calibration(rows);
    EXPECT_EQ(calibration.models().size(), row.fitted ? 2U : 1U);
    EXPECT_EQ(calibration.notes().size(), row.fitted ? 0U : 1U);
  }
  // As many sizes as are needed, too close to each other to tell latency from rate.
  std::vector<MeasuredTime> close = rows_of({{.last = 1 << 16}});
  ASSERT_EQ(close.size(), 4U);
  for (std::size_t i = 0; i < close.size(); ++i)
    close[i].bytes = Bytes{1024 + 64 * std::int64_t(i)};
  EXPECT_THROW(Calibration{close}, InvalidArgument);
}

TEST(CalibrationTest, RanksThatWaitForCoresAreNoOtherUnit) {
  std::vector<MeasuredTime> rows;
  for (const Scale& scale : {Scale{4, 1, {}, 4}, Scale{8, 1, {}, 4}}) {
    const double slower = scale.ranks > scale.cores ? 250 : 1;
    for (MeasuredTime& row : rows_of(
             {{.library = "MPICH 4.2", .algorithm = "ring", .scale = scale, .slower = slower}})) {
      rows.push_back(row);
    }
  }
  EXPECT_NO_THROW((Calibration(rows)));
  for (MeasuredTime& row : rows) row.scale.cores = 8;
  EXPECT_THROW((Calibration(rows)), InvalidArgument) << "each has its core";
}

TEST(CalibrationTest, NoiseAndSinglePointsAreNoContradiction) {
  for (const double slower : {1.3, 1.45}) {
    EXPECT_NO_THROW(Calibration(rows_of({{}, {.slower = slower}}))) << slower;
  }
  EXPECT_THROW(Calibration(rows_of({{}, {.slower = 1.6}})), InvalidArgument);
  EXPECT_NO_THROW(Calibration(rows_of({{}, {.slower = 9, .first = 1 << 20, .last = 1 << 22}})))
      << "two points of nine";
}

TEST(MethodModelTest, RowsOfOnePointCountAsTheirMedian) {
  std::vector<MeasuredTime> rows = rows_of({{}, {.slower = 1.1}, {.slower = 1.4}});
  const MethodModel model(rows);
  ASSERT_EQ(model.points().size(), rows.size() / 3);
  const std::vector<MeasuredTime> middle = rows_of({{.slower = 1.1}});
  for (std::size_t i = 0; i < middle.size(); ++i) {
    EXPECT_EQ(model.points()[i].time, middle[i].time);
  }
  const MethodModel two(rows_of({{}, {.slower = 1.2}}));
  EXPECT_NEAR(two.points().front().time / rows.front().time, 1.1, 1e-12);
}

TEST(MethodModelTest, IntervalsHoldTheTimeAndWidenAwayFromThePoints) {
  const MethodModel model(rows_of({{.scale = {8, 2}}, {.scale = {16, 4}}}));
  double last = 0;
  for (const int nodes : {4, 8, 16, 64, 256}) {
    const Estimate estimate = model.estimate({4 * nodes, nodes}, Bytes{1 << 18});
    EXPECT_LT(estimate.low, estimate.time);
    EXPECT_GT(estimate.high, estimate.time);
    EXPECT_NEAR(estimate.time / estimate.low, estimate.high / estimate.time, 1e-9);
    EXPECT_GT(estimate.high / estimate.low, last) << nodes;
    EXPECT_EQ(estimate.extrapolates.empty(), nodes == 4) << estimate.extrapolates;
    last = estimate.high / estimate.low;
  }
  EXPECT_THROW(model.estimate({0, 1}, Bytes{1}), InvalidArgument);
}

TEST(MethodModelTest, BeyondTheScalesMeasuredTheMiddleSizesAreTheLeastSure) {
  const MethodModel model(rows_of({{.scale = {8, 2}}, {.scale = {16, 4}}}));
  const auto off = [&](Bytes bytes, int nodes) {
    const Estimate estimate = model.estimate({4 * nodes, nodes}, bytes);
    return std::log(estimate.high / estimate.time);
  };
  const auto growth = [&](Bytes bytes) { return off(bytes, 256) / off(bytes, 4); };
  EXPECT_GT(growth(Bytes{32 << 10}), 2);
  EXPECT_GT(off(Bytes{(32 << 10) + 4}, 256), 3 * off(Bytes{32 << 10}, 256));
  EXPECT_GT(off(Bytes{1 << 20}, 256), 1.5 * off(Bytes{(1 << 20) + 4}, 256));
  EXPECT_NEAR(off(Bytes{1 << 18}, 4), off(Bytes{1 << 14}, 4), 0.01) << "measured there";
}

TEST(MethodModelTest, OfVeryManyPointsItTakesEvenlyMany) {
  std::vector<MeasuredTime> rows = rows_of({{}});
  const MeasuredTime first = rows.front();
  for (std::int64_t i = 1; i < 900; ++i) {
    MeasuredTime row = first;
    row.bytes = Bytes{first.bytes.count + 4 * i};
    rows.push_back(row);
  }
  const MethodModel model(rows);
  ASSERT_EQ(model.points().size(), 700U);
  EXPECT_EQ(model.points().front().bytes, first.bytes);
  EXPECT_EQ(model.points().back().bytes, (Bytes{1 << 26}));
}

TEST(MethodModelTest, LatencyMakesSmallTimesAndRatesLargeOnes) {
  const MethodModel model(rows_of({{.scale = {8, 2}}, {.scale = {16, 4}}}));
  const auto share = [&](const Scale& scale, double bytes, std::vector<std::size_t> terms) {
    const TermValues all = model.trend().terms(scale, bytes);
    double some = 0;
    for (const std::size_t k : terms) some += all[k];
    return some / std::accumulate(all.begin(), all.end(), 0.0);
  };
  EXPECT_GT(share({8, 2}, 1024, {0, 1, 2, 3}), 0.5) << "start and latencies";
  EXPECT_GT(share({8, 2}, 1 << 26, {4, 5, 6, 7, 8}), 0.5) << "what grows with the bytes";
  EXPECT_EQ(share({1, 1}, 1 << 20, {2, 3, 5, 6, 7}), 0) << "one rank has no network";
}

}  // namespace
}  // namespace collbench

#include "heuristics/calibration/calibration.h"

#include <cmath>
#include <iterator>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"
#include "core/random.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/policies/regret.h"
#include "heuristics/time_curve.h"
#include "topologies/machine_file.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A tree of pipelines: 5 us, 8 us for each doubling of the nodes, 20 GB/s both ways.
double seconds_of(const Scale& scale, double bytes, double slower = 1) {
  const double sent = 2.0 * (scale.ranks - 1) / scale.ranks * bytes;
  return slower * (5e-6 + 8e-6 * std::log2(scale.nodes) + sent / 20e9);
}

std::vector<MeasuredTime> curve(const Scale& scale, const std::string& algorithm = "auto",
                                double slower = 1) {
  std::vector<MeasuredTime> rows;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 4) {
    MeasuredTime row;
    row.system = "made";
    row.library = "nccl";
    row.algorithm = algorithm;
    row.scale = scale;
    row.bytes = Bytes{bytes};
    row.time = Seconds{seconds_of(scale, static_cast<double>(bytes), slower)};
    rows.push_back(row);
  }
  return rows;
}

std::vector<MeasuredTime> curves(std::initializer_list<int> nodes) {
  std::vector<MeasuredTime> rows;
  for (const int n : nodes) {
    for (const MeasuredTime& row : curve({4 * n, n})) rows.push_back(row);
  }
  return rows;
}

std::string refusal_of_rows(const std::vector<MeasuredTime>& rows) {
  return refusal([&] { const Calibration calibration(rows); });
}

TEST(MethodModelTest, GivesMeasuredPointsBackWithinItsNoise) {
  const MethodModel model(curves({2, 4, 8}));
  for (const MeasuredTime& row : model.points()) {
    EXPECT_NEAR(model.estimate(row.scale, row.bytes).time / row.time, 1, 0.05);
    EXPECT_THAT(model.estimate(row.scale, row.bytes).extrapolates, IsEmpty());
  }
}

TEST(MethodModelTest, KeepsAMeasuredBumpBetweenItsNeighbours) {
  std::vector<MeasuredTime> rows = curves({2, 4, 8});
  for (MeasuredTime& row : rows) {
    if (row.bytes.count == 1 << 20) row.time *= 3;
  }
  const MethodModel model(rows);
  EXPECT_GT(model.estimate({16, 4}, Bytes{1 << 20}).time.count(),
            2.4 * seconds_of({16, 4}, 1 << 20));
}

TEST(MethodModelTest, SaysHowFarItExtrapolatesAndIsLessSure) {
  const MethodModel model(curves({2, 4}));
  const Estimate near = model.estimate({16, 4}, Bytes{1 << 20});
  const Estimate far = model.estimate({256, 64}, Bytes{1 << 30});
  EXPECT_THAT(far.extrapolates,
              AllOf(HasSubstr("64 nodes, measured with 2 to 4"), HasSubstr("1 GiB")));
  EXPECT_GT(far.high / far.low, near.high / near.low);
}

/// How many times its time the upper end of an interval is.
double width_of(const Estimate& estimate) { return estimate.high / estimate.time; }

TEST(MethodModelTest, IsLessSureWithEachDoublingOutsideTheSizesAndTheRanksOfANode) {
  const MethodModel model(curves({2, 4}));  // 1 KiB to 256 MiB, 4 ranks a node
  double before = width_of(model.estimate({16, 4}, Bytes{1 << 28}));
  for (const std::int64_t more : {2, 8, 32}) {
    const double width = width_of(model.estimate({16, 4}, Bytes{more << 28}));
    EXPECT_GT(width, 1.1 * before) << more;
    before = width;
  }
  EXPECT_GT(width_of(model.estimate({16, 4}, Bytes{1 << 6})), 1.5);
  before = width_of(model.estimate({16, 4}, Bytes{1 << 20}));
  for (const int each : {8, 16, 32}) {
    const double width = width_of(model.estimate({4 * each, 4}, Bytes{1 << 20}));
    EXPECT_GT(width, 1.1 * before) << each;
    before = width;
  }
  EXPECT_GT(width_of(model.estimate({4, 4}, Bytes{1 << 20})), 1.5);
}

/// 93 sizes, four to a doubling, on two and four nodes, with noise of 5 %.
std::vector<MeasuredTime> dense_curves() {
  RandomEngine engine = random_engine(1, "dense curves");
  std::normal_distribution<double> noise(0, 0.05);
  std::vector<MeasuredTime> rows;
  for (const int nodes : {2, 4}) {
    for (int i = 0; i < 93; ++i) {
      MeasuredTime row = curve({4 * nodes, nodes}).front();
      row.bytes = Bytes{static_cast<std::int64_t>(1024 * std::exp2(i / 4.0))};
      row.time = Seconds{seconds_of(row.scale, static_cast<double>(row.bytes.count)) *
                         std::exp(noise(engine))};
      rows.push_back(row);
    }
  }
  return rows;
}

TEST(CalibrationTest, IntervalsOfDenselyMeasuredSizesHoldTheirNoise) {
  std::vector<std::string> notes;
  const ErrorSummary summary = summarize_held_out(leave_one_size_out(dense_curves(), notes));
  EXPECT_EQ(summary.points, 2 * 93) << "20 folds hold each size out once";
  EXPECT_LT(summary.median, 0.05);
  EXPECT_GT(summary.within, 0.7);
  EXPECT_LT(summary.within, 0.93);
}

TEST(CalibrationTest, SaysWhatItDoesNotKnowOrLeavesOut) {
  std::vector<MeasuredTime> rows = curve({8, 2});
  for (MeasuredTime& row : rows) row.scale.nodes = 0;
  EXPECT_THAT(Calibration(rows).notes(),
              ElementsAre(HasSubstr("how many nodes is not said of 10 rows; taken as one node")));
  for (std::int64_t i = 1; i <= 800; ++i) {
    MeasuredTime row = curve({8, 2}).front();
    row.bytes = Bytes{i << 16};
    row.time = Seconds{seconds_of(row.scale, static_cast<double>(row.bytes.count))};
    rows.push_back(row);
  }
  std::erase_if(rows, [](const MeasuredTime& row) { return row.scale.nodes == 0; });
  EXPECT_THAT(Calibration(rows).notes(), ElementsAre(HasSubstr("rests on 700 of its 800 points")));
}

TEST(CalibrationTest, RefusesTimesInWhichNoMessageArrives) {
  std::vector<MeasuredTime> rows = curve({32, 8});
  rows.front().time = Seconds{3.1e-7};  // three messages: 8 nodes
  EXPECT_EQ(Calibration(rows).models().size(), 1U);
  rows.front().time = Seconds{2.9e-7};
  EXPECT_THAT(refusal_of_rows(rows),
              HasSubstr("290 ns is less than 300 ns, which 3 messages one after the other take"));
}

TEST(CalibrationTest, PredictsAScaleThatItDidNotSee) {
  std::vector<std::string> notes;
  const auto held = leave_one_scale_out(curves({2, 4, 8, 16}), false, notes);
  const ErrorSummary summary = summarize_held_out(held);
  EXPECT_EQ(summary.points, 4 * 10);
  EXPECT_LT(summary.median, 0.05);
  EXPECT_LT(summary.p90, 0.15);
  EXPECT_LT(summarize_held_out(leave_one_size_out(curves({2, 4, 8, 16}), notes)).p90, 0.1);
}

TEST(MethodModelTest, OneDisturbedScaleDoesNotBendItsNeighbours) {
  std::vector<MeasuredTime> rows = curves({2, 4, 16, 32});
  const std::vector<MeasuredTime> disturbed = curve({32, 8}, "auto", 2.0);
  rows.insert(rows.end(), disturbed.begin(), disturbed.end());
  const MethodModel model(rows);
  for (const MeasuredTime& row : disturbed) {
    EXPECT_NEAR(model.estimate(row.scale, row.bytes).time / row.time, 1, 0.05)
        << to_string(row.bytes);
  }
  std::vector<MeasuredTime> rest = rows;
  std::erase_if(rest, [](const MeasuredTime& row) { return row.scale.nodes == 16; });
  const MethodModel without(rest);
  for (const MeasuredTime& row : curve({64, 16})) {
    EXPECT_NEAR(without.estimate(row.scale, row.bytes).time / row.time, 1, 0.15)
        << to_string(row.bytes);
  }
}

TEST(CalibrationTest, RefusesTooFewPointsInWords) {
  std::vector<MeasuredTime> rows = curve({8, 2});
  rows.resize(3);
  EXPECT_THAT(refusal_of_rows(rows),
              HasSubstr("too few measurements: 'made nccl auto' is left out: 3 "
                        "sizes, at least 4 are needed"));
  EXPECT_THAT(refusal_of_rows({}), HasSubstr("no measurements"));
}

TEST(CalibrationTest, RefusesTablesThatContradictEachOther) {
  std::vector<MeasuredTime> rows = curve({8, 2});
  for (const MeasuredTime& row : curve({8, 2}, "auto", 2)) rows.push_back(row);
  EXPECT_THAT(refusal_of_rows(rows),
              AllOf(HasSubstr("contradict each other at 10 points"),
                    HasSubstr("8 ranks on 2 nodes"), HasSubstr("system=NAME")));
}

TEST(CalibrationTest, SaysWhichMethodStandsForOneThatWasNotMeasured) {
  const Calibration calibration(curves({2, 4}));
  MethodKey ring = method_of(curve({8, 2}).front());
  std::string instead;
  ASSERT_NE(calibration.find(ring, &instead), nullptr);
  EXPECT_THAT(instead, IsEmpty());
  ring.algorithm = "ring";
  ASSERT_NE(calibration.find(ring, &instead), nullptr);
  EXPECT_THAT(instead, HasSubstr("'made nccl ring' is not measured"));
  ring.library = "mpi";
  EXPECT_EQ(calibration.find(ring), nullptr);
}

TEST(FittedMachineTest, WritesAMachineThatReadsBackWithItsPoints) {
  const std::vector<MeasuredTime> rows = curves({1, 2, 4, 8});
  const Calibration calibration(rows);
  const std::string text = to_toml(calibration, "made up", "this test");
  const DescribedMachine machine = machine_from_toml(text, "made.toml");
  EXPECT_EQ(machine.machine.topology.hosts(), 4);
  ASSERT_TRUE(machine.fabric.has_value());
  EXPECT_NEAR(machine.fabric->adapter.nominal.bytes_per_second, 20e9, 1e9);
  const Calibration stored = stored_calibration(text, "made.toml").value();
  const std::span<const MeasuredTime> points = stored.points();
  ASSERT_EQ(points.size(), rows.size());
  EXPECT_EQ(method_of(points.front()), method_of(rows.front()));
  EXPECT_NEAR(points.back().time / rows.back().time, 1, 1e-5);
}

TEST(FittedMachineTest, RefusesPointsThatAreNoneWithTheLine) {
  const std::string text =
      "[[calibration]]\nlibrary = \"nccl\"\nalgorithm = \"ring\"\ntype = \"f32\"\nop = \"sum\"\n"
      "ranks = 4\nnodes = 2\nsizes = [\"1 KiB\", \"2 KiB\"]\ntimes = [\"3 us\"]\n";
  try {
    stored_calibration(text, "bad.toml");
    FAIL() << "accepted";
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("bad.toml:9"), HasSubstr("1 times for 2 sizes")));
  }
}

TEST(RegretTest, OfTheOracleIsNoneAndOfTheDefaultWhatItLoses) {
  std::vector<MeasuredTime> rows = curve({8, 2}, "default", 1.5);
  for (const MeasuredTime& row : curve({8, 2}, "fast")) rows.push_back(row);
  EXPECT_EQ(summarize_regret(regret_of("oracle", rows)).worst, 0);
  const RegretSummary library = summarize_regret(regret_of("default", rows));
  EXPECT_EQ(library.points, 10);
  EXPECT_NEAR(library.mean, 0.5, 1e-9);
  EXPECT_NEAR(library.p95, 0.5, 1e-9);
  EXPECT_LT(summarize_regret(regret_of("model", rows, {.size_held_out = true})).mean, 0.01);
  EXPECT_EQ(summarize_regret(regret_of("oracle", rows, {.size_held_out = true})).unanswered, 10);
  EXPECT_THROW(regret_of("nonsense", rows), InvalidArgument);
}

TEST(TimeCurveTest, LiesBetweenTheChordAndWhatItsNeighboursAllow) {
  // 10 us and 1 ns per byte, at sizes 16 apart.
  TimeCurve curve;
  for (std::int64_t bytes = 64; bytes <= 1 << 24; bytes *= 16) {
    curve[bytes] = 1e-5 + 1e-9 * static_cast<double>(bytes);
  }
  double worst = 0;
  double worst_chord = 0;
  for (double bytes = 80; bytes < 1 << 22; bytes *= 1.3) {
    const double truth = 1e-5 + 1e-9 * bytes;
    const auto above = curve.upper_bound(static_cast<std::int64_t>(bytes));
    const auto below = std::prev(above);
    const double share = std::log(bytes / static_cast<double>(below->first)) / std::log(16.0);
    const double chord = std::pow(below->second, 1 - share) * std::pow(above->second, share);
    EXPECT_LE(time_at(curve, bytes), chord * (1 + 1e-12));
    EXPECT_GE(time_at(curve, bytes), below->second);
    worst = std::max(worst, std::abs(time_at(curve, bytes) / truth - 1));
    worst_chord = std::max(worst_chord, chord / truth - 1);
  }
  EXPECT_LT(worst, 0.6 * worst_chord);
  EXPECT_EQ(time_at(curve, 1024), curve.at(1024));
  EXPECT_EQ(time_at(curve, 1), curve.at(64));
  EXPECT_NEAR(time_at(curve, 3.0 * (1 << 22)), 3 * curve.at(1 << 22), 1e-12);
  EXPECT_EQ(doublings_outside(curve, 16), 2);
  EXPECT_EQ(doublings_outside(curve, 100), 0);
  EXPECT_EQ(doublings_outside(curve, 1 << 23), 1);
}

TEST(RegretTest, OutsideTheSizesMeasuredALibrarysChoiceIsLeftOnlyForAClearGain) {
  // At 1 KiB, held out, both neighbours of a table that begins at 4 KiB: 3 % are too little for
  // two doublings, 30 % are enough.
  for (const auto& [slower, left] : {std::pair{1.03, false}, std::pair{1.3, true}}) {
    std::vector<MeasuredTime> rows = curve({8, 2}, "default", slower);
    for (const MeasuredTime& row : curve({8, 2}, "fast")) rows.push_back(row);
    const std::vector<RegretPoint> points = regret_of("measured", rows, {.size_held_out = true});
    ASSERT_EQ(points.front().best.bytes, (Bytes{1024}));
    EXPECT_EQ(points.front().chosen, left ? "fast" : "default") << slower;
    EXPECT_EQ(points[1].chosen, "fast") << slower;
  }
}

TEST(RegretTest, TheLibrarysOwnChoiceIsKeptWhereItIsFastest) {
  std::vector<MeasuredTime> rows = curve({8, 2}, "auto");
  for (const MeasuredTime& row : curve({8, 2}, "ring", 1.7)) rows.push_back(row);
  for (const char* policy : {"measured", "model", "oracle"}) {
    const RegretSummary summary = summarize_regret(regret_of(policy, rows));
    EXPECT_EQ(summary.points, 10) << policy;
    EXPECT_EQ(summary.worst, 0) << policy;
  }
}

TEST(TimeCurveTest, LiesAboveTheLineThatContinuesTheSegmentBefore) {
  const TimeCurve curve = {{1 << 10, 1.0}, {4 << 10, 1.5}, {16 << 10, 2.4}};
  const double left = std::log(1.5);
  const double right = std::log(2.4);
  const double halfway = std::log(2.0);  // of the sizes' logarithms, from 4 to 8 KiB
  const double chord = (left + right) / 2;
  const double continued = left + left / std::log(4.0) * halfway;
  ASSERT_LT(continued, chord);
  ASSERT_GT(continued, right - halfway) << "no other bound is as high";
  EXPECT_NEAR(time_at(curve, 8 << 10), std::exp((chord + continued) / 2), 1e-12);
}

TEST(FittedMachineTest, LinksCarryWhatTheCollectiveSends) {
  // An all-gather sends (n-1)/n of the vector out of each rank, once.
  for (const auto& [kind, sent] : {std::pair{CollectiveKind::all_gather, 7.0 / 8},
                                   {CollectiveKind::reduce_scatter, 7.0 / 8},
                                   {CollectiveKind::broadcast, 1.0},
                                   {CollectiveKind::all_reduce, 14.0 / 8}}) {
    std::vector<MeasuredTime> rows = curve({8, 8});
    for (MeasuredTime& row : rows) {
      row.collective = kind;
      row.time = Seconds{10e-6 + static_cast<double>(row.bytes.count) / 1e9};
    }
    EXPECT_NEAR(fit_machine(Calibration(rows)).network_rate.value, sent * 1e9, 1e7)
        << to_string(kind);
  }
}

TEST(FittedMachineTest, CostsReadBackAsTheyWereFitted) {
  const Calibration calibration(curves({1, 2, 4, 8}));
  const FittedMachine fitted = fit_machine(calibration);
  const Machine read =
      machine_from_toml(to_toml(calibration, "made up", "this test"), "made.toml").machine;
  ASSERT_GT(fitted.overhead.value, 0);
  EXPECT_NEAR(read.costs.per_collective.count() / fitted.overhead.value, 1, 1e-3);
  const LinkClass& link = read.topology.classes().front();
  EXPECT_NEAR(2 * link.latency.count() / fitted.node_latency.value, 1, 1e-3) << "up and down";
  EXPECT_NEAR(link.nominal.bytes_per_second / fitted.node_rate.value, 1, 1e-3);
}

TEST(CalibrationTest, RowsOfNoSystemAreNotPredictedAsThoseOfAnother) {
  std::vector<MeasuredTime> rows = curves({2, 4});
  for (MeasuredTime& row : rows) row.system.clear();
  const MeasuredTime own = rows.front();
  for (MeasuredTime row : curves({2, 4, 8})) {
    row.time *= 3;
    rows.push_back(row);
  }
  std::string instead;
  const auto estimate = Calibration(rows).estimate(method_of(own), own.scale, own.bytes, &instead);
  EXPECT_NEAR(estimate->time / own.time, 1, 0.05);
  EXPECT_THAT(instead, IsEmpty());
}

TEST(CalibrationTest, OfAHostWhoseRanksWaitForCoresTheLongVectorsShowAnotherUnit) {
  std::vector<MeasuredTime> rows;
  for (const auto& [ranks, unit] : {std::pair{2, 1.0}, {4, 1000.0}}) {
    for (MeasuredTime row : curve({ranks, 1})) {
      row.scale.cores = 2;
      row.time *= unit;
      rows.push_back(row);
    }
  }
  EXPECT_THAT(refusal_of_rows(rows), HasSubstr("another unit"));
}

TEST(CalibrationTest, RowsOfOneRankAmongOthersAreLeftOut) {
  std::vector<MeasuredTime> rows = curves({1, 2});
  const Calibration before(rows);
  for (const MeasuredTime& row : curve({1, 1})) rows.push_back(row);
  const Calibration after(rows);
  EXPECT_THAT(after.notes(), ElementsAre("10 rows of one rank, which sends nothing, left out"));
  const MethodKey method = method_of(rows.front());
  EXPECT_EQ(before.estimate(method, {16, 4}, Bytes{1 << 20})->time,
            after.estimate(method, {16, 4}, Bytes{1 << 20})->time);
}

}  // namespace
}  // namespace collbench

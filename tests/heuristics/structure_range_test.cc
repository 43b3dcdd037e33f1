// What a fit of a network takes for measured: its very methods and scales, and how sure it is of
// what is not.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heuristics/calibration/calibration.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/structure/ignored_requests.h"
#include "heuristics/structure/noise_of_repeats.h"
#include "heuristics/structure/structural_model.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Times of a network with the constants expected before measuring, 256 B to `most`.
std::vector<MeasuredTime> expected_rows(Interconnect interconnect, const std::string& library,
                                        const std::vector<std::string>& algorithms,
                                        const std::vector<Scale>& scales,
                                        std::int64_t most = 64 << 20) {
  const NetworkModel& model = network_model(interconnect);
  std::vector<double> priors;
  for (const NetworkConstant& constant : model.constants) priors.push_back(constant.prior);
  std::vector<MeasuredTime> rows;
  for (const Scale& scale : scales) {
    for (const std::string& algorithm : algorithms) {
      for (std::int64_t bytes = 256; bytes <= most; bytes *= 4) {
        MeasuredTime row;
        row.system = "made";
        row.library = library;
        row.algorithm = algorithm;
        row.scale = scale;
        row.bytes = Bytes{bytes};
        row.time = Seconds{1e-6 * model.microseconds(*played_method(method_of(row), scale), scale,
                                                     static_cast<double>(bytes), priors)};
        rows.push_back(row);
      }
    }
  }
  return rows;
}

std::vector<MeasuredTime> switched_rows(const std::vector<std::string>& algorithms,
                                        const std::vector<int>& nodes,
                                        std::int64_t most = 64 << 20) {
  std::vector<Scale> scales;
  for (const int n : nodes) scales.push_back({n, n});
  return expected_rows(Interconnect::switched, "mpich 4", algorithms, scales, most);
}

MethodKey named_like(const MeasuredTime& row, const std::string& algorithm) {
  MethodKey method = method_of(row);
  method.algorithm = algorithm;
  return method;
}

/// Standard deviation of ln(time) that the interval stands for.
double deviation_of(const Estimate& estimate) {
  return std::log(estimate.high / estimate.low) / (2 * 1.2816);
}

void append(std::vector<MeasuredTime>& rows, const std::vector<MeasuredTime>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

TEST(MeasuredWorkTest, TypesAndPlacesAreMethodsOfTheirOwn) {
  for (const bool in_place : {false, true}) {
    std::vector<MeasuredTime> rows = switched_rows({"ring", "recursive_doubling"}, {4, 8});
    for (MeasuredTime row : switched_rows({"ring", "recursive_doubling"}, {4, 8})) {
      row.in_place = in_place;
      if (!in_place) row.type = DataType::f16;
      row.time *= in_place ? 0.7 : 9;
      rows.push_back(row);
    }
    const StructuralModel model(Interconnect::switched, rows);
    for (const MeasuredTime& row : rows) {
      EXPECT_NEAR(model.estimate(method_of(row), row.scale, row.bytes).time / row.time, 1, 1e-6)
          << to_string(method_of(row)) << ' ' << to_string(row.bytes);
    }
  }
}

TEST(MeasuredWorkTest, ATypeThatWasNotMeasuredIsLikeTheOneThatWasAndLessSure) {
  const StructuralModel model(Interconnect::switched,
                              switched_rows({"ring", "recursive_doubling"}, {4, 8}));
  MethodKey ring = named_like(model.points().front(), "ring");
  const Estimate own = model.estimate(ring, {8, 8}, Bytes{1 << 20});
  ring.type = DataType::f16;
  const Estimate other = model.estimate(ring, {8, 8}, Bytes{1 << 20});
  EXPECT_NEAR(other.time / own.time, 1, 1e-6);
  EXPECT_GT(deviation_of(other), 0.4);
}

TEST(MeasuredShapeTest, ATorusIsMeasuredOnTheAxesThatItHad) {
  const Scale cube{64, 64, {4, 4, 4}};
  const Scale flat{64, 64, {2, 2, 16}};
  const std::vector<std::string> names{"default-ring", "default-recursive_doubling"};
  std::vector<MeasuredTime> rows = expected_rows(Interconnect::torus, "FJMPI", names, {cube, flat});
  for (MeasuredTime& row : rows) row.time *= row.scale == cube ? 1 : 3;
  const StructuralModel model(Interconnect::torus, rows);
  for (const MeasuredTime& row : rows) {
    const Estimate estimate = model.estimate(method_of(row), row.scale, row.bytes);
    EXPECT_NEAR(estimate.time / row.time, 1, 1e-6) << to_string(row.scale);
    EXPECT_THAT(estimate.extrapolates, IsEmpty());
  }
  const MethodKey ring = method_of(rows.front());
  const Estimate between = model.estimate(ring, {64, 64, {2, 4, 8}}, Bytes{1 << 20});
  EXPECT_THAT(between.extrapolates, HasSubstr("2x4x8 nodes, measured as 2x2x16, 4x4x4"));
  EXPECT_GT(deviation_of(between), model.fit().per_doubling);
}

TEST(MeasuredHoleTest, LongVectorsAreNotKnownByShortOnesOnAsManyNodes) {
  const std::vector<std::string> names{"ring", "recursive_doubling", "rabenseifner"};
  std::vector<MeasuredTime> rows = switched_rows(names, {8, 16});
  append(rows, switched_rows(names, {64}, 1024));
  const StructuralModel model(Interconnect::switched, rows);
  const MethodKey ring = method_of(rows.front());
  const Estimate known = model.estimate(ring, {64, 64}, Bytes{1024});
  const Estimate hole = model.estimate(ring, {64, 64}, Bytes{16 << 20});
  EXPECT_NEAR(deviation_of(known), 0.05, 1e-3);
  EXPECT_NEAR(deviation_of(hole), std::hypot(0.05, 2 * model.fit().per_doubling), 1e-3)
      << "two doublings from 16 nodes, where 16 MiB were measured";
  EXPECT_THAT(known.extrapolates, IsEmpty());
  EXPECT_EQ(hole.extrapolates, "16 MiB, measured there from 256 B to 1 KiB");
}

TEST(MeasuredHoleTest, OtherRanksPerNodeAreLessSure) {
  const std::vector<std::string> names{"allreduce_nccl_ring", "allreduce_nccl_tree"};
  const StructuralModel model(
      Interconnect::gpu_nodes,
      expected_rows(Interconnect::gpu_nodes, "OMPI", names, {{8, 2}, {16, 4}, {32, 8}}));
  const MethodKey ring = named_like(model.points().front(), "allreduce_nccl_ring");
  const auto off = [&](int each) {
    return deviation_of(model.estimate(ring, {4 * each, 4}, Bytes{1 << 20}));
  };
  EXPECT_NEAR(off(8), std::hypot(off(4), 0.4), 1e-6);
  EXPECT_NEAR(off(16), std::hypot(off(4), 0.8), 1e-6);
}

TEST(MeasuredFamilyTest, AFamilyThatWasNotMeasuredIsLessSureThanAName) {
  const StructuralModel model(Interconnect::switched,
                              switched_rows({"ring", "rabenseifner"}, {8, 128}));
  const MeasuredTime& first = model.points().front();
  const auto off = [&](const char* name) {
    return deviation_of(model.estimate(named_like(first, name), {128, 128}, Bytes{256 << 10}));
  };
  EXPECT_NEAR(off("bine_bdw_remap_over"), std::hypot(0.05, 0.15), 1e-3) << "halving was";
  EXPECT_NEAR(off("recursive_doubling"), std::hypot(0.05, 0.25), 1e-3)
      << "rings of fewer elements than ranks play it, no more";
}

/// One build whose own choice is `choice` at these scales, and two of its algorithms.
std::vector<MeasuredTime> rows_of_build(const std::string& library, const std::string& choice,
                                        int nodes) {
  const std::vector<std::string> names{"ring", "recursive_doubling"};
  std::vector<MeasuredTime> rows =
      expected_rows(Interconnect::switched, library, names, {{nodes, nodes}});
  for (MeasuredTime row :
       expected_rows(Interconnect::switched, library, {choice}, {{nodes, nodes}})) {
    row.algorithm = "default";
    rows.push_back(row);
  }
  return rows;
}

TEST(LibraryChoicesTest, ABuildChoosesByItsOwnRules) {
  std::vector<MeasuredTime> rows = rows_of_build("mpich 3.4", "ring", 8);
  append(rows, rows_of_build("mpich 4.2", "recursive_doubling", 8));
  const StructuralModel model(Interconnect::switched, rows);
  const auto time = [&](const char* library, const char* algorithm, Bytes bytes) {
    MethodKey method = named_like(rows.front(), algorithm);
    method.library = library;
    return model.estimate(method, {128, 128}, bytes).time;
  };
  for (const Bytes bytes : {Bytes{4 << 10}, Bytes{16 << 20}}) {
    EXPECT_NEAR(time("mpich 3.4", "default", bytes) / time("mpich 3.4", "ring", bytes), 1, 0.1);
    EXPECT_NEAR(
        time("mpich 4.2", "default", bytes) / time("mpich 4.2", "recursive_doubling", bytes), 1,
        0.1);
  }
}

TEST(IgnoredRequestsTest, OtherChoicesAtOtherScalesAndOfOtherBuildsContradictNothing) {
  std::vector<MeasuredTime> rows = rows_of_build("mpich 3.4", "ring", 8);
  append(rows, rows_of_build("mpich 3.4", "recursive_doubling", 64));
  append(rows, rows_of_build("mpich 4.2", "recursive_doubling", 8));
  std::vector<std::string> notes;
  EXPECT_THAT(without_ignored_requests(rows, notes), SizeIs(rows.size()));
  EXPECT_THAT(notes, IsEmpty());
}

TEST(IgnoredRequestsTest, TypesAreComparedWithThemselves) {
  // The choice is the ring in f32 in both batches; in f16 nothing but the ring was measured.
  std::vector<MeasuredTime> rows;
  for (const char* batch : {"one", "two"}) {
    for (MeasuredTime row : rows_of_build("mpich 3.4", "ring", 8)) {
      row.batch = batch;
      rows.push_back(row);
      if (row.algorithm != "ring" || row.batch == "one") continue;
      row.type = DataType::f16;
      row.time *= 9;
      rows.push_back(row);
    }
  }
  std::vector<std::string> notes;
  EXPECT_THAT(without_ignored_requests(rows, notes), SizeIs(rows.size()));
  EXPECT_THAT(notes, IsEmpty());
}

/// Three runs, 1, 1.2 and 0.85 times the rows.
std::vector<MeasuredTime> three_runs(const std::vector<MeasuredTime>& rows) {
  std::vector<MeasuredTime> runs;
  for (const double factor : {1.0, 1.2, 0.85}) {
    for (MeasuredTime row : rows) {
      row.time *= factor;
      runs.push_back(row);
    }
  }
  return runs;
}

const double spread_of_three = std::sqrt(
    (std::pow(std::log(1.2), 2) + std::pow(std::log(0.85), 2) - std::pow(std::log(1.02), 2) / 3) /
    2);

TEST(NoiseOfRepeatsTest, IsTheSpreadOfRunsAndNoneOfSinglePoints) {
  const std::vector<MeasuredTime> rows = switched_rows({"ring"}, {8, 16});
  EXPECT_EQ(noise_of_repeats(rows), 0);
  EXPECT_NEAR(noise_of_repeats(three_runs(rows)), spread_of_three, 1e-9);
}

TEST(NoiseOfRepeatsTest, OneDisturbedRunOfOneSizeDoesNotDecide) {
  std::vector<MeasuredTime> rows = three_runs(switched_rows({"ring"}, {8, 16}));
  rows.front().time *= 50;
  EXPECT_LT(noise_of_repeats(rows), 1.5 * spread_of_three);
}

TEST(RunNoiseTest, IntervalsAreNoNarrowerThanRunsDifferAlsoFromAFile) {
  std::vector<MeasuredTime> rows = three_runs(switched_rows({"ring", "rabenseifner"}, {8, 16}));
  for (MeasuredTime row : three_runs(switched_rows({"ring"}, {8, 16}))) {
    row.library = "nccl";
    row.algorithm = "auto";
    rows.push_back(row);
  }
  const Calibration fitted(rows);
  const auto read = stored_calibration(to_toml(fitted, "made", "made"), "made.toml");
  ASSERT_TRUE(read);
  for (const Calibration* each : {&fitted, &*read}) {
    for (const char* library : {"mpich 4", "nccl"}) {
      MethodKey method = named_like(rows.front(), std::string(library) == "nccl" ? "auto" : "ring");
      method.library = library;
      const auto estimate = each->estimate(method, {16, 16}, Bytes{1 << 20});
      ASSERT_TRUE(estimate);
      EXPECT_NEAR(deviation_of(*estimate), spread_of_three, 0.01) << library;
    }
  }
}

TEST(RunNoiseTest, WithoutRepeatsATrendIsSureToFivePercentAtMost) {
  std::vector<MeasuredTime> rows = switched_rows({"ring"}, {8, 16});
  for (MeasuredTime& row : rows) {
    row.library = "nccl";
    row.algorithm = "auto";
  }
  const Calibration fitted(rows);
  const auto estimate = fitted.estimate(method_of(rows.front()), {16, 16}, Bytes{1 << 20});
  ASSERT_TRUE(estimate);
  EXPECT_GE(deviation_of(*estimate), 0.05 - 1e-9);
}

}  // namespace
}  // namespace collbench

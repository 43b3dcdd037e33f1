// What measured methods play, and the constants fitted to all of them at once.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heuristics/calibration/calibration.h"
#include "heuristics/calibration/fitted_choice.h"
#include "heuristics/structure/ignored_requests.h"
#include "heuristics/structure/structural_model.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Scale torus64{64, 64, {4, 4, 4}};

MethodKey method(const std::string& library, const std::string& algorithm) {
  MethodKey key;
  key.system = "made";
  key.library = library;
  key.algorithm = algorithm;
  return key;
}

TEST(PlayedMethodTest, KnowsTheNamesOfLibraries) {
  struct Row {
    const char* library;
    const char* algorithm;
    Scale scale;
    PlayedForm form;
  };
  const Scale switched{16, 16};
  const Scale gpus{32, 8};
  for (const Row& row : {Row{"OMPI 4.1.5", "default_ompi", switched, PlayedForm::ompi_choice},
                         Row{"CRAY_MPICH 8", "default_mpich", switched, PlayedForm::library_choice},
                         Row{"OMPI 5", "allgather_reduce_ompi", switched, PlayedForm::halving},
                         Row{"grpc", "halving-doubling", switched, PlayedForm::halving},
                         Row{"FJMPI 4", "BINE-L-UTOFU-0-6", torus64, PlayedForm::port_doubling},
                         Row{"FJMPI 4", "RING-B_CONT-UTOFU-0-6", torus64, PlayedForm::port_ring},
                         Row{"FJMPI 4", "default-trix3", torus64, PlayedForm::axis_trees},
                         Row{"OMPI", "allreduce_nccl_pat", gpus, PlayedForm::node_fastest},
                         Row{"OMPI", "allreduce_hier_bw_mpi", gpus, PlayedForm::node_halving}}) {
    const auto played = played_method(method(row.library, row.algorithm), row.scale);
    ASSERT_TRUE(played) << row.algorithm;
    EXPECT_EQ(played->form, row.form) << row.algorithm;
  }
  const PlayedMethod ports =
      played_method(method("FJMPI", "BINE-B_CONT-UTOFU-65536-3"), torus64).value();
  EXPECT_EQ(ports.ports, 3);
  EXPECT_EQ(ports.segment, 65536);
}

TEST(PlayedMethodTest, HasNoFormForOtherNamesNcclsTablesAndSingleNodes) {
  EXPECT_FALSE(played_method(method("mpi", "secret_sauce"), {8, 8}));
  EXPECT_FALSE(played_method(method("nccl", "ring"), {8, 8}));
  EXPECT_FALSE(played_method(method("nccl", "auto"), {64, 8}));
  EXPECT_FALSE(played_method(method("mpi", "ring"), {8, 1}));
  EXPECT_FALSE(played_method(method("mpi", "ring"), {8, 0}));
}

TEST(PlayedMethodTest, KnowsWhatMpiPlaysAmongTheRanksOfOneHost) {
  const Scale host{.ranks = 8, .nodes = 1, .cores = 2};
  const PlayedMethod linear = played_method(method("openmpi", "linear"), host).value();
  EXPECT_EQ(linear.form, PlayedForm::linear);
  EXPECT_EQ(linear.interconnect, Interconnect::host_library);
  EXPECT_EQ(played_method(method("openmpi", "auto"), host)->form, PlayedForm::ompi_choice);
  EXPECT_EQ(played_method(method("mpich", "rabenseifner"), host)->interconnect,
            Interconnect::host_busy_library);
  EXPECT_FALSE(played_method(method("mpich", "auto"), host)) << "in memory, by its own rules";
}

TEST(PlayedMethodTest, OpenMpisRulesAndShortRingsPlaySomethingElse) {
  const PlayedMethod choice = played_method(method("OMPI 4", "default"), {128, 128}).value();
  EXPECT_EQ(played_for(choice, 128, 1024, 4).form, PlayedForm::tree);
  EXPECT_EQ(played_for(choice, 128, 1 << 20, 4).form, PlayedForm::halving);
  const PlayedMethod ring = played_method(method("OMPI 4", "ring"), {128, 128}).value();
  EXPECT_EQ(played_for(ring, 128, 256, 4).form, PlayedForm::doubling);
  EXPECT_TRUE(is_replaced(ring, 128, 256, 4));
  EXPECT_FALSE(is_replaced(ring, 128, 512, 4));
}

const std::vector<double> truth = {6, 3, 4, 0.5, 1e-4, 3e-5, 4e-5, 4e-5, 1.5, 2e-5, 0.3};

std::vector<MeasuredTime> made_rows(std::initializer_list<int> nodes,
                                    std::initializer_list<const char*> algorithms) {
  const NetworkModel& model = network_model(Interconnect::switched);
  std::vector<MeasuredTime> rows;
  for (const int n : nodes) {
    for (const char* algorithm : algorithms) {
      for (std::int64_t bytes = 256; bytes <= 256 << 20; bytes *= 8) {
        MeasuredTime row;
        row.system = "made";
        row.library = "mpi";
        row.algorithm = algorithm;
        row.scale = {n, n};
        row.bytes = Bytes{bytes};
        const auto played = played_method(method_of(row), row.scale);
        row.time = Seconds{
            1e-6 * model.microseconds(*played, row.scale, static_cast<double>(bytes), truth)};
        rows.push_back(row);
      }
    }
  }
  return rows;
}

TEST(StructuralModelTest, GrowsWithTheMachineFromOneScale) {
  const StructuralModel model(Interconnect::switched,
                              made_rows({8}, {"ring", "recursive_doubling", "rabenseifner",
                                              "bine_bdw_remap_segmented_over_65536"}));
  for (const MeasuredTime& row :
       made_rows({64, 256}, {"ring", "recursive_doubling", "rabenseifner"})) {
    const Estimate estimate = model.estimate(method_of(row), row.scale, row.bytes);
    EXPECT_NEAR(estimate.time / row.time, 1, 0.12)
        << row.algorithm << ' ' << row.scale.nodes << ' ' << to_string(row.bytes);
    EXPECT_LT(estimate.low, row.time);
    EXPECT_GT(estimate.high, row.time);
    EXPECT_THAT(estimate.extrapolates, HasSubstr("nodes, measured with 8 only"));
  }
}

TEST(StructuralModelTest, PredictsAMethodThatWasNeverMeasured) {
  const StructuralModel model(Interconnect::switched,
                              made_rows({8, 16}, {"ring", "recursive_doubling"}));
  for (const MeasuredTime& row : made_rows({16}, {"rabenseifner"})) {
    EXPECT_FALSE(model.has_measured(method_of(row)));
    EXPECT_NEAR(model.estimate(method_of(row), row.scale, row.bytes).time / row.time, 1, 0.15);
  }
}

TEST(StructuralModelTest, AnotherBuildOfTheLibraryIsPredictedAlikeAndLessSurely) {
  const StructuralModel model(Interconnect::switched,
                              made_rows({8, 16}, {"ring", "recursive_doubling"}));
  const auto width = [&](const char* library) {
    const Estimate estimate = model.estimate(method(library, "ring"), {64, 64}, Bytes{1 << 20});
    return std::log(estimate.high / estimate.low) / (2 * 1.2816);
  };
  EXPECT_NEAR(width("another mpi"), std::hypot(width("mpi"), 0.45), 1e-6);
}

TEST(StructuralModelTest, AtMeasuredPointsItIsTheMeasurementAndFarFromThemLessSure) {
  std::vector<MeasuredTime> rows = made_rows({8, 16}, {"ring", "recursive_doubling"});
  for (MeasuredTime& row : rows) {
    if (row.algorithm == "ring" && row.bytes.count == 16 << 10) row.time *= 2;
  }
  const StructuralModel model(Interconnect::switched, rows);
  for (const MeasuredTime& row : rows) {
    EXPECT_NEAR(model.estimate(method_of(row), row.scale, row.bytes).time / row.time, 1, 0.25)
        << row.algorithm << ' ' << to_string(row.bytes);
  }
  const MethodKey ring = method_of(rows.front());
  const Estimate near = model.estimate(ring, {16, 16}, Bytes{1 << 20});
  const Estimate far = model.estimate(ring, {512, 512}, Bytes{1 << 20});
  EXPECT_GT(far.high / far.low, near.high / near.low);
}

TEST(StructuralModelTest, ALibrarysOwnChoiceIsTheNamedMethodItWasNearestTo) {
  std::vector<MeasuredTime> rows = made_rows({16}, {"ring", "recursive_doubling", "rabenseifner"});
  for (const MeasuredTime& row : made_rows({16}, {"ring"})) {
    MeasuredTime own = row;
    own.algorithm = "default_mpich";
    rows.push_back(own);
  }
  const StructuralModel model(Interconnect::switched, rows);
  const MethodKey choice = method("mpi", "default_mpich");
  const MethodKey ring = method("mpi", "ring");
  EXPECT_NEAR(model.estimate(choice, {64, 64}, Bytes{16 << 10}).time /
                  model.estimate(ring, {64, 64}, Bytes{16 << 10}).time,
              1, 0.05);
  EXPECT_TRUE(model.may_change(choice, {64, 64}, Bytes{1024}));
  EXPECT_FALSE(model.may_change(choice, {16, 16}, Bytes{1024})) << "it was measured there";
  EXPECT_FALSE(model.may_change(ring, {64, 64}, Bytes{1024}));
}

TEST(StructuralModelTest, ANameThatFallsBackMayChangeOnlyWhereWhatItStandsForDoes) {
  const NetworkModel& model = network_model(Interconnect::gpu_nodes);
  std::vector<double> priors;
  for (const NetworkConstant& constant : model.constants) priors.push_back(constant.prior);
  std::vector<MeasuredTime> rows;
  for (const char* name :
       {"allreduce_nccl_tree", "allreduce_nccl_ring", "allreduce_nccl_collnet"}) {
    for (std::int64_t bytes = 256; bytes <= 512 << 20; bytes *= 8) {
      MeasuredTime row;
      row.system = "made";
      row.library = "OMPI";
      row.algorithm = name;
      row.scale = {16, 4};
      row.bytes = Bytes{bytes};
      row.time = Seconds{1e-6 * model.microseconds(*played_method(method_of(row), row.scale),
                                                   row.scale, static_cast<double>(bytes), priors)};
      rows.push_back(row);
    }
  }
  const StructuralModel fitted(Interconnect::gpu_nodes, rows);
  const MethodKey collnet = method("OMPI", "allreduce_nccl_collnet");
  EXPECT_FALSE(fitted.may_change(collnet, {32, 8}, Bytes{2048})) << "the tree at both";
  EXPECT_FALSE(fitted.may_change(collnet, {32, 8}, Bytes{512 << 20})) << "the ring at both";
  EXPECT_TRUE(fitted.may_change(collnet, {2048, 512}, Bytes{32 << 20}))
      << "the ring on 4 nodes, the tree on 512";
}

TEST(FittedChoiceTest, OutsideTheSizesMeasuredALibrarysOwnChoiceIsLeftForAGainOnly) {
  const auto first_choice = [](double slower, Bytes bytes) {
    std::vector<MeasuredTime> rows = made_rows({16}, {"ring", "recursive_doubling"});
    for (MeasuredTime row : made_rows({16}, {"recursive_doubling"})) {
      row.algorithm = "default_mpich";
      row.time *= slower;
      rows.push_back(row);
    }
    const Calibration calibration(rows);
    std::vector<MethodKey> methods;
    for (const MeasuredMethod& each : calibration.measured()) methods.push_back(each.method);
    return rank_methods(calibration, methods, {16, 16}, bytes).front();
  };
  const FittedCandidate kept = first_choice(1.03, Bytes{4});
  EXPECT_EQ(kept.method.algorithm, "default_mpich") << "6 doublings below: 12 % are noise";
  EXPECT_TRUE(kept.is_default);
  EXPECT_EQ(first_choice(1.5, Bytes{128}).method.algorithm, "recursive_doubling");
  EXPECT_EQ(first_choice(1.03, Bytes{256}).method.algorithm, "recursive_doubling") << "measured";
}

TEST(StructuralModelTest, AChoiceThatTookARingIsWhatFellBackToTheRing) {
  const NetworkModel& model = network_model(Interconnect::torus);
  std::vector<double> priors;
  for (const NetworkConstant& constant : model.constants) priors.push_back(constant.prior);
  const Scale small{8, 8, {2, 2, 2}};
  const auto rows_with = [&](double of_trees) {
    std::vector<MeasuredTime> rows;
    for (const char* name : {"default-ring", "default-recursive_doubling", "default-trix6"}) {
      const MethodKey key = method("FJMPI", name);
      for (std::int64_t bytes = 256; bytes <= 64 << 20; bytes *= 8) {
        MeasuredTime row;
        row.system = "made";
        row.library = "FJMPI";
        row.algorithm = name;
        row.scale = small;
        row.bytes = Bytes{bytes};
        row.time = Seconds{1e-6 * model.microseconds(*played_method(key, small), small,
                                                     static_cast<double>(bytes), priors)};
        if (row.algorithm == "default-trix6") row.time *= of_trees;
        rows.push_back(row);
        if (row.algorithm != "default-ring" || bytes < 1 << 20) continue;
        row.algorithm = "default-default";
        rows.push_back(row);
      }
    }
    return rows;
  };
  const auto over_trees = [&](double of_trees) {
    const StructuralModel fitted(Interconnect::torus, rows_with(of_trees));
    const auto time = [&](const char* name) {
      return fitted.estimate(method("FJMPI", name), torus64, Bytes{16 << 20}).time;
    };
    return time("default-default") / time("default-trix6");
  };
  EXPECT_NEAR(over_trees(1), 1, 0.1) << "axes of four have trees, those of two have not";
  EXPECT_GT(over_trees(1.1), 2) << "the ring was nearer than what fell back to something else";
}

TEST(StructuralModelTest, ARoundOverMoreNodesTakesLongerEvenToTheNextRank) {
  const NetworkModel& model = network_model(Interconnect::switched);
  const auto of_a_round = [&](int n) {
    const Scale scale{n, n};
    const PlayedMethod ring = *played_method(method("mpi", "ring"), scale);
    return (model.microseconds(ring, scale, 4.0 * n, truth) - truth[0]) / (2 * (n - 1));
  };
  // 0.5 us over 32 nodes, by the doublings of the nodes to half as much again.
  EXPECT_NEAR(of_a_round(128) - of_a_round(8), 0.5 * (7 - 3) / 5, 0.01);
  EXPECT_NEAR(of_a_round(2048) - of_a_round(8), 0.5 * (1.5 - 3.0 / 5), 0.01);
}

TEST(StructuralModelTest, AStoredFitGivesTheSameAsTheFit) {
  const std::vector<MeasuredTime> rows = made_rows({8, 32}, {"ring", "rabenseifner"});
  const StructuralModel fitted(Interconnect::switched, rows);
  const StructuralModel stored(Interconnect::switched, rows, fitted.fit());
  const MethodKey key = method_of(rows.front());
  EXPECT_EQ(fitted.estimate(key, {128, 128}, Bytes{4096}).time,
            stored.estimate(key, {128, 128}, Bytes{4096}).time);
}

TEST(StructuralModelTest, TorusTimesFollowTheRealAxes) {
  const NetworkModel& model = network_model(Interconnect::torus);
  std::vector<double> priors;
  for (const NetworkConstant& constant : model.constants) priors.push_back(constant.prior);
  const auto time = [&](const char* name, const GridShape& shape, double bytes) {
    const Scale scale{64, 64, shape};
    return model.microseconds(*played_method(method("FJMPI", name), scale), scale, bytes, priors);
  };
  // Depth counts the axes: 3 * 3 steps against 7 + 7, there and back, 1.2 us each.
  EXPECT_NEAR(time("default-trix3", {8, 8}, 4) - time("default-trix3", {4, 4, 4}, 4),
              2 * (14 - 9) * 1.2, 0.01);
  // Six ports share four directions of a plane: two pieces on one link.
  EXPECT_GT(time("BINE-B_CONT-UTOFU-0-6", {8, 8}, 1 << 26),
            1.3 * time("BINE-B_CONT-UTOFU-0-6", {4, 4, 4}, 1 << 26));
}

TEST(IgnoredRequestsTest, ARunThatTookTheDefaultsTimesIsLeftOut) {
  std::vector<MeasuredTime> rows;
  for (const char* batch : {"one", "two"}) {
    for (const MeasuredTime& row : made_rows({16}, {"recursive_doubling", "rabenseifner"})) {
      rows.push_back(row);
      rows.back().batch = batch;
      if (row.algorithm != "rabenseifner") continue;
      MeasuredTime other = rows.back();
      other.algorithm = "default_mpich";
      rows.push_back(other);
      if (std::string(batch) == "two") continue;
      // In the first batch the request for doubling was ignored.
      for (MeasuredTime& each : rows) {
        if (each.algorithm == "recursive_doubling" && each.bytes == row.bytes) each.time = row.time;
      }
    }
  }
  const std::size_t all = rows.size();
  std::vector<std::string> notes;
  rows = without_ignored_requests(std::move(rows), notes);
  EXPECT_EQ(rows.size(), all - made_rows({16}, {"ring"}).size());
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes.front(), HasSubstr("'recursive_doubling' of mpi"));
  EXPECT_THAT(notes.front(), HasSubstr("in batch one is left out"));
}

TEST(IgnoredRequestsTest, AreLeftOutBeforeTablesContradictEachOther) {
  std::vector<MeasuredTime> rows;
  for (const char* batch : {"one", "two"}) {
    for (MeasuredTime row : made_rows({16}, {"ring", "rabenseifner"})) {
      row.batch = batch;
      rows.push_back(row);
      if (row.algorithm == "ring") continue;
      row.algorithm = "default_mpich";
      rows.push_back(row);
      row.algorithm = "recursive_doubling";  // ignored in the first batch, three times as slow else
      if (row.batch == "two") row.time *= 3;
      rows.push_back(row);
    }
  }
  const Calibration calibration(rows);
  ASSERT_THAT(calibration.notes(), SizeIs(1));
  EXPECT_THAT(calibration.notes().front(), HasSubstr("'recursive_doubling' of mpi"));
}

TEST(IgnoredRequestsTest, AMethodThatTheLibraryAlwaysChoosesIsKept) {
  std::vector<MeasuredTime> rows = made_rows({16}, {"rabenseifner"});
  for (const MeasuredTime& row : made_rows({16}, {"rabenseifner"})) {
    rows.push_back(row);
    rows.back().algorithm = "default_mpich";
  }
  std::vector<std::string> notes;
  EXPECT_THAT(without_ignored_requests(rows, notes), SizeIs(rows.size()));
  EXPECT_THAT(notes, IsEmpty());
}

TEST(JointFitTest, FindsTheConstantsThatTheTimesWereMadeOf) {
  const NetworkModel& model = network_model(Interconnect::switched);
  std::vector<PlayedRow> rows;
  for (const MeasuredTime& row : made_rows(
           {4, 16, 64},
           {"ring", "recursive_doubling", "rabenseifner", "bine_bdw_remap_segmented_over_16384"})) {
    rows.push_back({*played_method(method_of(row), row.scale), row.scale,
                    static_cast<double>(row.bytes.count), std::log(row.time.count() * 1e6)});
  }
  const std::vector<FittedConstant> fitted = fit_constants(model, rows);
  for (const std::size_t k : {1U, 2U, 4U, 8U}) {
    EXPECT_NEAR(fitted[k].value / truth[k], 1, 0.1) << model.constants[k].name;
    EXPECT_LT(fitted[k].factor, 1.5) << model.constants[k].name;
  }
}

TEST(JointFitTest, WhatTheTimesLeaveOpenStaysAtItsPrior) {
  const NetworkModel& model = network_model(Interconnect::switched);
  const std::vector<FittedConstant> fitted = fit_constants(model, {});
  for (std::size_t k = 0; k < fitted.size(); ++k) {
    EXPECT_NEAR(fitted[k].value / model.constants[k].prior, 1, 1e-9) << model.constants[k].name;
    EXPECT_NEAR(std::log(fitted[k].factor), model.constants[k].deviation, 1e-6);
  }
}

}  // namespace
}  // namespace collbench

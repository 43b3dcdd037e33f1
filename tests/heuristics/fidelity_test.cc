// Predictions of measured rows: a calibration by its own models, another machine by what NCCL would
// play or by our model, and the reason for what nobody can predict.
#include "heuristics/calibration/fidelity.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/nccl/library_times.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MeasuredTime row_of(const char* library, const char* algorithm, Scale scale, std::int64_t bytes) {
  MeasuredTime row;
  row.system = "made";
  row.library = library;
  row.algorithm = algorithm;
  row.scale = scale;
  row.bytes = Bytes{bytes};
  row.time = Seconds{20e-6 + static_cast<double>(bytes) / 5e9};
  return row;
}

std::vector<MeasuredTime> rows_of(const char* library, const char* algorithm, Scale scale) {
  std::vector<MeasuredTime> rows;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 24; bytes *= 4) {
    rows.push_back(row_of(library, algorithm, scale, bytes));
  }
  return rows;
}

TEST(PredictorTest, ACalibrationGivesItsOwnRowsBack) {
  const std::vector<MeasuredTime> rows = rows_of("mpi", "auto", {8, 4});
  const std::string path = testing::TempDir() + "fidelity.toml";
  std::ofstream(path) << to_toml(Calibration(rows), "a machine", "a test");
  std::vector<std::string> notes;
  const std::vector<HeldOut> predicted = Predictor(path).predict_all(rows, notes);
  ASSERT_EQ(predicted.size(), rows.size());
  for (const HeldOut& point : predicted) EXPECT_LT(std::abs(point.error()), 0.06);
  EXPECT_THAT(notes, IsEmpty());

  // Another name of the system is the description's affair; another library is not in it.
  MeasuredTime renamed = rows[3];
  renamed.system = "elsewhere";
  EXPECT_EQ(Predictor(path).predict_all(std::vector{renamed}, notes).size(), 1U);
  EXPECT_THAT(notes, IsEmpty());
  MeasuredTime other = rows[3];
  other.library = "nccl";
  EXPECT_THAT(Predictor(path).predict_all(std::vector{other}, notes), IsEmpty());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("is not in the calibration")));
  std::filesystem::remove(path);
}

TEST(PredictorTest, WhatLiesBeyondTheRowsIsSaidOnce) {
  const std::vector<MeasuredTime> rows = rows_of("mpi", "auto", {8, 4});
  const std::string path = testing::TempDir() + "beyond.toml";
  std::ofstream(path) << to_toml(Calibration(rows), "a machine", "a test");
  const std::vector<MeasuredTime> far(3, row_of("mpi", "auto", {16, 8}, 1 << 20));
  std::vector<std::string> notes;
  EXPECT_EQ(Predictor(path).predict_all(far, notes).size(), 3U);
  EXPECT_THAT(notes, ElementsAre("extrapolates: 8 nodes, measured with 4 only"));
  std::filesystem::remove(path);
}

TEST(PredictorTest, AMethodThatWasNotMeasuredIsNotPredictedAsAnother) {
  const std::string path = testing::TempDir() + "unrelated.toml";
  std::ofstream(path) << to_toml(Calibration(rows_of("mpi", "ring", {8, 4})), "a machine",
                                 "a test");
  std::vector<std::string> notes;
  const std::vector<MeasuredTime> other{row_of("mpi", "bine", {8, 4}, 1 << 20)};
  EXPECT_THAT(Predictor(path).predict_all(other, notes), IsEmpty());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("'made mpi bine' is not in the calibration")));
  std::filesystem::remove(path);
}

TEST(PredictorTest, RowsOfNcclAreWhatTheLibraryWouldPlayAndSayWhat) {
  const Bytes bytes{1 << 26};
  const NcclInputs inputs = nccl_inputs(machine("dgx-a100", 8), 8, 1);
  const Predictor predictor("dgx-a100");
  std::vector<std::string> notes;
  for (const char* algorithm : {"auto", "tree", "double-tree"}) {
    LibraryQuestion question{.bytes = bytes};
    if (algorithm != std::string("auto")) question.algorithm = NcclAlgorithm::tree;
    const LibraryPlay expected = library_choice(inputs, question);
    const std::vector<MeasuredTime> rows{row_of("nccl", algorithm, {8, 1}, bytes.count)};
    const std::vector<HeldOut> predicted = predictor.predict_all(rows, notes);
    ASSERT_EQ(predicted.size(), 1U) << algorithm;
    EXPECT_EQ(predicted[0].predicted.time, expected.time) << algorithm;
    EXPECT_EQ(predicted[0].assumed, to_string(expected));
    EXPECT_EQ(predicted[0].predicted.low, expected.low);
    EXPECT_LT(predicted[0].predicted.low, expected.time);
  }
  EXPECT_THAT(predictor.predict_all(std::vector{row_of("nccl", "nvls", {8, 1}, 1024)}, notes),
              IsEmpty());
  EXPECT_THAT(predictor.predict_all(std::vector{row_of("nccl", "nvl", {8, 1}, 1024)}, notes),
              IsEmpty());
  EXPECT_THAT(notes, ElementsAre(HasSubstr("not predicted: NCCL has no 'nvls' there; it has"),
                                 HasSubstr("not predicted: NCCL has no 'nvl'; it has ring")));
}

TEST(PredictorTest, NodesThatATableDoesNotSayAreThoseOfTheMachine) {
  std::vector<std::string> notes;
  const std::vector<MeasuredTime> unsaid{row_of("nccl", "auto", {16, 0}, 1024)};
  const std::vector<MeasuredTime> said{row_of("nccl", "auto", {16, 2}, 1024)};
  const auto time = [&](const char* name, const std::vector<MeasuredTime>& rows) {
    return Predictor(name).predict_all(rows, notes).at(0).predicted.time;
  };
  EXPECT_EQ(time("cluster:2xdgx-a100", unsaid), time("dgx-a100", said));
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(time("superpod-h100", unsaid), time("superpod-h100", said)) << "is a cluster itself";
  EXPECT_EQ(time("superpod-h100", said), time("dgx-h100", said));
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(time("dgx-a100", unsaid), time("dgx-a100", said));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("16 ranks taken for 2 of dgx-a100")));
}

TEST(PredictorTest, HostsOfOneNvlinkDomainAreNotMachinesOfTheirOwn) {
  std::vector<std::string> notes;
  const std::vector<MeasuredTime> trays{row_of("nccl", "auto", {32, 8}, 1 << 30)};
  const HeldOut point = Predictor("gb200-nvl72").predict_all(trays, notes).at(0);
  EXPECT_EQ(point.assumed, "nvls, Simple");
  EXPECT_LT(point.predicted.time.count(), 3e-3) << "over adapters it takes 5 ms";
}

TEST(PredictorTest, FewRanksOnEachNodeSpeakOverItsAdapters) {
  std::vector<std::string> notes;
  const std::vector<MeasuredTime> rows{row_of("shm", "ring", {2, 2}, 1 << 30)};
  const HeldOut point = Predictor("cluster:2xdgx-h100").predict_all(rows, notes).at(0);
  EXPECT_GT(point.predicted.time.count(), (1 << 30) / 50e9) << "one adapter of 50 GB/s";
}

TEST(PredictorTest, RowsOfOurAlgorithmsArePricedOnAsManyNodesAsTheyHad) {
  const Predictor predictor("dgx-a100");
  std::vector<std::string> notes;
  std::vector<MeasuredTime> rows{row_of("shm", "ring", {8, 1}, 1 << 26),
                                 row_of("shm", "ring", {16, 2}, 1 << 26),
                                 row_of("shm", "made-up", {8, 1}, 1 << 20)};
  rows.push_back(rows[0]);
  rows.back().wrong = 1;
  const std::vector<HeldOut> predicted = predictor.predict_all(rows, notes);
  ASSERT_EQ(predicted.size(), 2U) << "neither unknown algorithms nor wrong results";
  EXPECT_GT(predicted[1].predicted.time, predicted[0].predicted.time) << "the network is slower";
  EXPECT_THAT(notes, ElementsAre(HasSubstr("made-up")));
}

}  // namespace
}  // namespace collbench

// What measured methods play, the rounds of it, and the constants fitted to all of them at once.
#include <algorithm>
#include <cmath>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.h"
#include "algorithms/resolve.h"
#include "heuristics/calibration/calibration.h"
#include "heuristics/structure/ignored_requests.h"
#include "heuristics/structure/message_rounds.h"
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

/// Bytes that the busiest rank sends and reduces in a round.
struct Busiest {
  double sent = 0;
  double reduced = 0;
};

Busiest busiest(const Schedule& schedule, int t, double chunk) {
  Busiest most;
  ResolvedRound round;
  for (Rank r = 0; r < schedule.ranks(); ++r) {
    resolve(schedule, r, t, round);
    double sent = 0;
    double reduced = 0;
    for (const Op& send : round.sends()) sent += chunk * send.chunks.count;
    for (const Receipt& receipt : round.receipts()) {
      reduced += chunk * receipt.chunks.count * receipt.additions();
    }
    most.sent = std::max(most.sent, sent);
    most.reduced = std::max(most.reduced, reduced);
  }
  return most;
}

TEST(MessageRoundsTest, AreThoseOfTheRegistrysSchedules) {
  for (const auto& [library, algorithm] :
       {std::pair{"mpi", "ring"}, std::pair{"OMPI 4.1", "recursive_doubling_ompi"},
        std::pair{"MPICH 4", "rabenseifner_mpich"}, std::pair{"mpi", "bine_lat_over"},
        std::pair{"mpi", "bine_bdw_remap_over"}}) {
    for (const int ranks : {2, 3, 4, 8, 16, 21, 32, 100}) {
      const PlayedMethod played = played_method(method(library, algorithm), {ranks, ranks}).value();
      const Schedule schedule = make_schedule(std::string(registry_row(played)), ranks);
      std::vector<Busiest> expected;
      for (const MessageRound& round : message_rounds(played, ranks, schedule.chunks())) {
        expected.insert(expected.end(), static_cast<std::size_t>(round.count),
                        {round.bytes, round.reduced});
      }
      std::vector<Busiest> own;
      for (int t = 0; t < schedule.rounds(); ++t) own.push_back(busiest(schedule, t, 1));
      ASSERT_EQ(own.size(), expected.size()) << algorithm << ' ' << ranks;
      for (std::size_t i = 0; i < own.size(); ++i) {
        EXPECT_NEAR(own[i].sent, expected[i].sent, 1e-9) << algorithm << ' ' << ranks << ' ' << i;
        EXPECT_NEAR(own[i].reduced, expected[i].reduced, 1e-9) << algorithm << ' ' << ranks;
      }
    }
  }
}

TEST(MessageRoundsTest, RanksBeyondAPowerOfTwoFoldFirst) {
  const PlayedMethod halving = played_method(method("mpi", "rabenseifner_over"), {6, 6}).value();
  double sent = 0;
  for (const MessageRound& round : message_rounds(halving, 6, 1)) sent += round.bytes;
  EXPECT_DOUBLE_EQ(sent, 1 + 2 * 0.75 + 1);
  const PlayedMethod doubling =
      played_method(method("mpi", "recursive_doubling_over"), {6, 6}).value();
  EXPECT_THAT(message_rounds(doubling, 6, 1), SizeIs(4));
}

TEST(MessageRoundsTest, ThousandsOfRanksAreThoseOfTheFormulas) {
  const auto total = [](const char* algorithm, int ranks) {
    const PlayedMethod played = played_method(method("mpi", algorithm), {ranks, ranks}).value();
    Busiest sums;
    double rounds = 0;
    for (const MessageRound& round : message_rounds(played, ranks, 1)) {
      rounds += round.count;
      sums.sent += round.count * round.bytes;
      sums.reduced += round.count * round.reduced;
    }
    return std::tuple(rounds, sums.sent, sums.reduced);
  };
  const auto near = [](double a, double b) { return std::abs(a - b) < 1e-9 * std::abs(b); };
  for (const auto& [algorithm, rounds, sent, reduced] :
       {std::tuple{"ring", 2.0 * 4095, 2 * 4095.0 / 4096, 4095.0 / 4096},
        std::tuple{"rabenseifner", 24.0, 2 * 4095.0 / 4096, 4095.0 / 4096},
        std::tuple{"bine_bdw_remap_over", 24.0, 2 * 4095.0 / 4096, 4095.0 / 4096},
        std::tuple{"recursive_doubling", 12.0, 12.0, 12.0},
        std::tuple{"linear", 2.0 * 4095, 2.0 * 4095, 4095.0}}) {
    const auto [n, s, r] = total(algorithm, 4096);
    EXPECT_EQ(n, rounds) << algorithm;
    EXPECT_TRUE(near(s, sent) && near(r, reduced)) << algorithm << ' ' << s << ' ' << r;
  }
}

TEST(AxisTracksTest, StepsAreAsFarAndLoadedAsTheScheduleOnItsTorus) {
  PlayedMethod played;
  played.form = PlayedForm::port_halving;
  const auto tracks = *axis_tracks(played, {4, 8});
  ASSERT_THAT(tracks, SizeIs(2));
  // Axes take turns from the track's own on: 1 step on four, 1 on eight, 2, 2 and 4, and back. At
  // half of a ring both ways are taken.
  std::vector<std::tuple<double, double, double>> steps;
  for (const AxisRound& round : tracks[0]) {
    steps.emplace_back(round.share, round.distance, round.load);
  }
  ASSERT_THAT(steps, SizeIs(10));
  EXPECT_EQ(steps[0], std::tuple(0.5, 1.0, 1.0));
  EXPECT_EQ(steps[1], std::tuple(0.25, 1.0, 1.0));
  EXPECT_EQ(steps[2], std::tuple(0.125, 2.0, 1.0));
  EXPECT_EQ(steps[3], std::tuple(0.0625, 2.0, 2.0));
  EXPECT_EQ(steps[4], std::tuple(0.03125, 4.0, 2.0));
  EXPECT_EQ(steps[5], steps[4]);
  EXPECT_EQ(steps[9], steps[0]);
  EXPECT_EQ(tracks[1][0].distance, 1);
  EXPECT_EQ(tracks[1][4].distance, 4);
}

TEST(AxisTracksTest, BineGoesShorterWays) {
  PlayedMethod played;
  played.form = PlayedForm::port_doubling;
  played.bine = true;
  std::vector<double> distances;
  for (const AxisRound& round : axis_tracks(played, {32})->front()) {
    EXPECT_EQ(round.share, 1);
    distances.push_back(round.distance);
  }
  EXPECT_EQ(distances, (std::vector<double>{1, 1, 3, 5, 11}));
}

TEST(AxisTracksTest, BucketRingsHaveTwoRoundsForEachStepOfTheAxes) {
  PlayedMethod played;
  played.form = PlayedForm::port_ring;
  for (const std::vector<int>& axes : {std::vector{4, 4, 4}, {2, 32, 32}, {5, 7}, {64}}) {
    double rounds = 0;
    double sent = 0;
    int steps = 0;
    int nodes = 1;
    for (const int length : axes) {
      steps += length - 1;
      nodes *= length;
    }
    for (const AxisRound& round : axis_tracks(played, axes)->front()) {
      rounds += round.count;
      sent += round.count * round.share;
    }
    EXPECT_EQ(rounds, 2 * steps);
    EXPECT_NEAR(sent, 2 * (1 - 1.0 / nodes), 1e-12);
  }
}

/// Of 64 MiB over links of 6.8 GB/s, without latencies and sums.
double us_of_bytes(PlayedForm form, bool bine, int ports, const Scale& scale) {
  const NetworkModel& torus = network_model(Interconnect::torus);
  std::vector<double> values(torus.constants.size(), 0);
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (torus.constants[k].name == "link") values[k] = 1 / 6.8e3;
  }
  PlayedMethod played;
  played.form = form;
  played.interconnect = Interconnect::torus;
  played.bine = bine;
  played.ports = ports;
  return torus.microseconds(played, scale, 1 << 26, values);
}

TEST(TorusNetworkTest, BytesCrowdOnLongAxesAsInTheFluidEngine) {
  struct Row {
    PlayedForm form;
    bool bine;
    int ports;
    Scale scale;
    double fluid_us;  // collbench simulate, torus:SHAPE:ties=alternate,6.8GBps,0.1us
  };
  const Scale cube{64, 64, {4, 4, 4}};
  const Scale slim{256, 256, {4, 64}};
  const Scale flat{128, 128, {8, 16}};
  for (const Row& row : {Row{PlayedForm::port_ring, false, 6, cube, 3240},
                         Row{PlayedForm::port_ring, false, 4, slim, 6082},
                         Row{PlayedForm::port_ring, false, 4, flat, 5209},
                         Row{PlayedForm::port_halving, false, 3, cube, 6478},
                         Row{PlayedForm::port_halving, false, 2, slim, 19751},
                         Row{PlayedForm::port_halving, false, 2, flat, 13574},
                         Row{PlayedForm::port_halving, true, 6, cube, 3240},
                         Row{PlayedForm::port_halving, true, 2, slim, 13193},
                         Row{PlayedForm::port_halving, true, 2, flat, 10643}}) {
    EXPECT_NEAR(us_of_bytes(row.form, row.bine, row.ports, row.scale) / row.fluid_us, 1, 0.003)
        << row.fluid_us;
  }
}

TEST(TorusNetworkTest, BothWaysOfAnAxisOfTwoAreOneLink) {
  const Scale pairs{8, 8, {2, 2, 2}};
  const double three = us_of_bytes(PlayedForm::port_halving, true, 3, pairs);
  EXPECT_NEAR(us_of_bytes(PlayedForm::port_halving, true, 6, pairs), three, 1e-9);
  const Scale cube{64, 64, {4, 4, 4}};
  EXPECT_NEAR(us_of_bytes(PlayedForm::port_halving, true, 6, cube),
              us_of_bytes(PlayedForm::port_halving, true, 3, cube) / 2, 1e-9);
}

TEST(TorusNetworkTest, LargeElongatedToriTakeLongerTheMoreBytes) {
  const Scale slim{2048, 2048, {2, 32, 32}};
  const NetworkModel& torus = network_model(Interconnect::torus);
  std::vector<double> priors;
  for (const NetworkConstant& constant : torus.constants) priors.push_back(constant.prior);
  for (const char* name :
       {"RING-B_CONT-UTOFU-0-6", "BINE-B_CONT-UTOFU-65536-6", "RECDOUB-L-UTOFU-0-3",
        "default-trix6", "default-trix3", "default-ring", "default-recursive_doubling"}) {
    const PlayedMethod played = played_method(method("FJMPI 4", name), slim).value();
    double before = 0;
    for (double bytes = 4; bytes <= 1 << 29; bytes *= 2) {
      if (bytes / 4 < 2048 && played.form == PlayedForm::ring) continue;  // by doubling, then
      const double time = torus.microseconds(played, slim, bytes, priors);
      EXPECT_GE(time, before) << name << ' ' << bytes;
      before = time;
    }
  }
}

TEST(MessageRoundsTest, PartnersOfBineTreesAreNearer) {
  const PlayedMethod bine = played_method(method("mpi", "bine_lat_over"), {32, 32}).value();
  std::vector<double> distances;
  for (const MessageRound& round : message_rounds(bine, 32, 1)) distances.push_back(round.distance);
  EXPECT_EQ(distances, (std::vector<double>{1, 1, 3, 5, 11}));
}

TEST(MessageRoundsTest, SegmentsAreThoseOfTheName) {
  const auto segments = [](const char* name) {
    const PlayedMethod played = played_method(method("mpi", name), {8, 8}).value();
    double most = 0;
    for (const MessageRound& round : message_rounds(played, 8, 1 << 20)) {
      most = std::max(most, round.segments);
    }
    return most;
  };
  EXPECT_EQ(segments("bine_bdw_remap_over"), 1);
  EXPECT_EQ(segments("bine_bdw_remap_segmented_over_131072"), 4);
  EXPECT_EQ(segments("bine_bdw_remap_segmented_over"), 4) << "segments of a rank's share";
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

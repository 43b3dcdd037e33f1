// The rounds of what is played, read from schedules, and what they cost on a torus.
#include "heuristics/structure/message_rounds.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.h"
#include "algorithms/resolve.h"
#include "heuristics/structure/network_model.h"

namespace collbench {
namespace {

using testing::SizeIs;

MethodKey method_of_library(const std::string& library, const std::string& algorithm) {
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
      const PlayedMethod played =
          played_method(method_of_library(library, algorithm), {ranks, ranks}).value();
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
  const PlayedMethod halving =
      played_method(method_of_library("mpi", "rabenseifner_over"), {6, 6}).value();
  double sent = 0;
  for (const MessageRound& round : message_rounds(halving, 6, 1)) sent += round.bytes;
  EXPECT_DOUBLE_EQ(sent, 1 + 2 * 0.75 + 1);
  const PlayedMethod doubling =
      played_method(method_of_library("mpi", "recursive_doubling_over"), {6, 6}).value();
  EXPECT_THAT(message_rounds(doubling, 6, 1), SizeIs(4));
}

TEST(MessageRoundsTest, ThousandsOfRanksAreThoseOfTheFormulas) {
  const auto total = [](const char* algorithm, int ranks) {
    const PlayedMethod played =
        played_method(method_of_library("mpi", algorithm), {ranks, ranks}).value();
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
    const PlayedMethod played = played_method(method_of_library("FJMPI 4", name), slim).value();
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
  const PlayedMethod bine =
      played_method(method_of_library("mpi", "bine_lat_over"), {32, 32}).value();
  std::vector<double> distances;
  for (const MessageRound& round : message_rounds(bine, 32, 1)) distances.push_back(round.distance);
  EXPECT_EQ(distances, (std::vector<double>{1, 1, 3, 5, 11}));
}

TEST(MessageRoundsTest, SegmentsAreThoseOfTheName) {
  const auto segments = [](const char* name) {
    const PlayedMethod played = played_method(method_of_library("mpi", name), {8, 8}).value();
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

}  // namespace
}  // namespace collbench

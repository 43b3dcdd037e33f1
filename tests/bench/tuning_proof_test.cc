// The proof of `tune`: whether rules are obeyed, what they gain, and which are taken back.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/tuning/tune.h"

namespace collbench {
namespace {

using ::testing::Each;

TEST(TuneProofTest, RulesThatAreNotObeyedShow) {
  TuningResult result;
  TunedPoint point;
  point.best.algorithm = "mpi:ring";
  point.own.algorithm = "mpi";
  point.changes = true;
  result.points = {point};
  int with_rules = 0;
  const auto plays = [&](std::string played) {
    return [&, played](const Case& measured_case, const Sampling&) {
      with_rules += played != "lib, linear" ? 1 : 0;
      Measurement measured;
      measured.played = played;
      measured.latency_ns.assign(5, measured_case.algorithm == "mpi" ? 2000 : 1000);
      return measured;
    };
  };
  const auto expected = [](const std::string&) { return std::string("ring"); };
  const auto never = [] { return std::string(); };
  const auto prove = [&](const std::string& played) {
    return prove_rules(result, plays("lib, linear"), plays(played), 9, Seconds{0}, expected, never);
  };
  ASSERT_EQ(prove("lib, ring").size(), 1U);
  EXPECT_TRUE(prove("lib, ring").front().is_obeyed);
  EXPECT_FALSE(prove("lib, linear").front().is_obeyed);
  EXPECT_THAT(prove("lib, ring").front().log_ratios,
              testing::AllOf(testing::SizeIs(6), Each(testing::DoubleNear(std::log(2), 1e-9))));
  with_rules = 0;
  EXPECT_EQ(measurements_of(prove("lib, ring").front()), 2 * 6 + 1);
  EXPECT_EQ(with_rules, 1) << "what it plays is seen at once; the gain is of the same processes";
}

TEST(TuneProofTest, RoundsAreNotWastedOnARuleThatLoses) {
  TuningResult result;
  for (const std::int64_t bytes : {64, 4096}) {
    TunedPoint point;
    point.best.algorithm = "mpi:ring";
    point.own.algorithm = "mpi";
    point.best.bytes = point.own.bytes = {bytes};
    point.changes = true;
    result.points.push_back(point);
  }
  const auto takes = [](const Case& point, const Sampling&) {
    Measurement measured;
    const bool is_slower = (point.algorithm == "mpi:ring") == (point.bytes < Bytes{100});
    measured.latency_ns.assign(5, is_slower ? 1100 : 1000);
    return measured;
  };
  const auto nothing = [](const std::string&) { return std::string(); };
  std::vector<ProvenPoint> proven =
      prove_rules(result, takes, takes, 9, Seconds{60}, nothing, [] { return std::string(); });
  ASSERT_EQ(proven.size(), 2U);
  EXPECT_EQ(measurements_of(proven[0]), 2 * 3 + 1);
  EXPECT_EQ(measurements_of(proven[1]), 2 * 9 + 1);
  EXPECT_EQ(take_back(result, proven), 1);
  EXPECT_FALSE(result.points[0].changes);
}

TEST(TuneProofTest, WhatTheRaceFoundCountsInTheProof) {
  TuningResult result;
  for (const double expected : {0.3, 0.03}) {
    TunedPoint point;
    point.best.algorithm = "mpi:ring";
    point.own.algorithm = "mpi";
    point.best.bytes = point.own.bytes = {expected > 0.1 ? 64 : 4096};
    point.expected_gain = expected;
    point.deviation = 0.1;
    point.changes = true;
    result.points.push_back(point);
  }
  const auto takes = [](const Case& point, const Sampling&) {
    Measurement measured;
    const std::int64_t gain = point.bytes < Bytes{100} ? 300 : 20;
    measured.latency_ns.assign(5, point.algorithm == "mpi:ring" ? 1000 : 1000 + gain);
    return measured;
  };
  const auto nothing = [](const std::string&) { return std::string(); };
  const std::vector<ProvenPoint> proven =
      prove_rules(result, takes, takes, 9, Seconds{60}, nothing, [] { return std::string(); });
  EXPECT_EQ(proven[0].log_ratios.size(), 2U) << "sure enough";
  EXPECT_EQ(proven[1].log_ratios.size(), 2U) << "not worth more";
  EXPECT_EQ(take_back(result, proven), 1);
  EXPECT_TRUE(result.points[0].changes);
  ProvenPoint point = proven[0];
  point.log_ratios = {-0.1, -0.1, -0.1};
  const Shift doubted = gain_of(point);
  EXPECT_GT(doubted.estimate, -0.1);
  EXPECT_LT(doubted.estimate, 0.3);
  EXPECT_LT(doubted.low, 0);
}

// Where the library does not say what it plays, the same algorithm by its name must be as fast.
TEST(TuneProofTest, ARuleIsObeyedWhereItsAlgorithmByNameIsAsFast) {
  TuningResult result;
  TunedPoint point;
  point.best.algorithm = "mpi:ring";
  point.own.algorithm = "mpi";
  point.changes = true;
  result.points = {point};
  const auto takes = [](std::int64_t own_ns, std::int64_t named_ns) {
    return [=](const Case& measured_case, const Sampling&) {
      Measurement measured;
      measured.latency_ns.assign(5, measured_case.algorithm == "mpi" ? own_ns : named_ns);
      return measured;
    };
  };
  const auto prove = [&](std::int64_t named_ns, std::int64_t with_rules_ns) {
    return prove_rules(result, takes(2 * named_ns, named_ns), takes(with_rules_ns, 0), 9,
                       Seconds{0}, nullptr, [] { return std::string(); });
  };
  EXPECT_TRUE(prove(10'000, 10'300).front().is_obeyed);
  EXPECT_FALSE(prove(10'000, 20'000).front().is_obeyed) << "what the library chooses by itself";
  EXPECT_TRUE(prove(500, 550).front().is_obeyed) << "the library looks the rule up";
  EXPECT_FALSE(prove(10'000, 11'000).front().is_obeyed) << "that does not take 1 us";
}

TEST(TuneProofTest, RulesThatMayLoseTimeAreTakenBack) {
  TuningResult result;
  for (const std::int64_t bytes : {64, 4096, 65536, 1 << 20}) {
    TunedPoint point;
    point.best.algorithm = "mpi:ring";
    point.own.algorithm = "mpi";
    point.best.bytes = point.own.bytes = {bytes};
    point.changes = true;
    result.points.push_back(point);
  }
  const auto proven = [&](std::size_t i, std::vector<double> log_ratios) {
    return ProvenPoint{.point = result.points[i].own,
                       .played = {},
                       .log_ratios = std::move(log_ratios),
                       .log_of_named = {}};
  };
  const ProvenPoint lost = proven(0, {-0.1, -0.2, 0.01, -0.1, -0.1, -0.3});
  const ProvenPoint won = proven(1, {0.1, 0.2, -0.01, 0.1, 0.1, 0.3, 0.2, 0.1, 0.1});
  const ProvenPoint unsure = proven(2, {0.1, 0.2, -0.1, 0.1, -0.2, 0.3, 0.1, 0.1});
  EXPECT_GT(gain_of(unsure).estimate, 0);
  EXPECT_LT(gain_of(unsure).low, 0);
  EXPECT_EQ(take_back(result, {lost, won, unsure, proven(3, {})}), 3);
  for (const std::size_t i : {0, 2, 3}) EXPECT_FALSE(result.points[i].changes) << i;
  EXPECT_TRUE(result.points[1].changes);
}

}  // namespace
}  // namespace collbench

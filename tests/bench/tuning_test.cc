// The race that `tune` runs: on made-up times, on a measured table, and to rules.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/foreign/foreign_tables.h"
#include "bench/tuning/offline.h"
#include "bench/tuning/race.h"
#include "bench/tuning/tune.h"
#include "core/error.h"
#include "core/input_file.h"

namespace collbench {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr int methods = 6;

// Each method has a latency and a rate of its own, so that another one is best at every few sizes.
Seconds made_up_time(int method, int workers, Bytes bytes) {
  const double latency = 2e-6 * (1 + method) * std::log2(workers);
  const double byte = 1e-9 * (1.2 - method / 6.0);
  return Seconds{latency + byte * static_cast<double>(bytes.count)};
}

std::vector<Case> made_up_cells() {
  std::vector<Case> cells;
  for (const int workers : {2, 4, 8}) {
    for (std::int64_t bytes = 4; bytes <= 16 << 20; bytes *= 4) {
      for (int method = 0; method < methods; ++method) {
        Case cell;
        cell.backend = "mpi";
        cell.algorithm = method == 2 ? "mpi" : "mpi:m" + std::to_string(method);
        cell.workers = workers;
        cell.bytes = {bytes};
        cells.push_back(cell);
      }
    }
  }
  return cells;
}

int method_of_case(const Case& cell) {
  return cell.algorithm == "mpi" ? 2 : cell.algorithm.back() - '0';
}

Measurement made_up(const Case& cell) {
  const Seconds time = made_up_time(method_of_case(cell), cell.workers, cell.bytes);
  Measurement measured;
  measured.latency_ns.assign(9, std::llround(time.count() * 1e9));
  measured.wrong = 0;
  return measured;
}

TuningPlan made_up_plan() {
  TuningPlan plan;
  plan.cells = made_up_cells();
  plan.own_choice = "mpi";
  plan.budget = Seconds{10};
  plan.measure = [](const Case& cell, const Sampling&) { return made_up(cell); };
  return plan;
}

TEST(RaceTest, FindsWhatIsNearlyFastestWithFewMeasurements) {
  std::vector<SurfaceCell> cells;
  std::vector<Seconds> times;
  for (const Case& made : made_up_cells()) {
    SurfaceCell cell;
    cell.method.algorithm = made.algorithm;
    cell.scale = {.ranks = made.workers, .nodes = made.workers};
    cell.bytes = made.bytes;
    cells.push_back(cell);
    times.push_back(made_up_time(method_of_case(made), made.workers, made.bytes));
  }
  Race race(cells);
  const auto once = [&](std::size_t cell) {
    return race.is_measured(cell) ? std::numeric_limits<double>::infinity() : 1.0;
  };
  const int most = static_cast<int>(cells.size()) / 3;
  while (race.measurements() < most) {
    const auto next = race.next(once, 0.01);
    if (!next) break;
    EXPECT_FALSE(race.is_measured(next->cell));
    EXPECT_GT(next->gain, 0);
    race.measured(next->cell, times[next->cell], 0.01);
  }
  double regret = 0;
  for (const RacePoint& point : race.points()) {
    double least = std::numeric_limits<double>::max();
    for (const std::size_t cell : point) least = std::min(least, times[cell].count());
    regret += times[race.choice(point)].count() / least - 1;
  }
  EXPECT_LT(regret / static_cast<double>(race.points().size()), 0.03);
}

TEST(RaceTest, WhatIsMeasuredIsKnownAndItsNeighboursAreSurer) {
  SurfaceCell near;
  near.method.algorithm = "ring";
  near.scale = {.ranks = 4, .nodes = 4};
  near.bytes = {1 << 20};
  SurfaceCell far = near;
  far.bytes = {64};
  SurfaceCell next = near;
  next.bytes = {2 << 20};
  TimeSurface surface({near, next, far});
  const double before_next = surface.covariance(1, 1);
  const double before_far = surface.covariance(2, 2);
  surface.measure(0, Seconds{5e-3}, 1e-3);
  EXPECT_NEAR(surface.log_us(0), std::log(5000), 0.01);
  EXPECT_LT(surface.covariance(0, 0), 1e-4);
  EXPECT_LT(surface.covariance(1, 1) / before_next, 0.5);
  EXPECT_LT(surface.covariance(1, 1) / before_next, surface.covariance(2, 2) / before_far);
  EXPECT_THROW(surface.measure(0, Seconds{0}, 0.1), InvalidArgument);
}

SurfaceCell named_cell(const std::string& library, const std::string& algorithm, int nodes,
                       int ranks, std::int64_t bytes) {
  SurfaceCell cell;
  cell.method.library = library;
  cell.method.algorithm = algorithm;
  cell.scale = {.ranks = ranks, .nodes = nodes};
  cell.bytes = {bytes};
  return cell;
}

// NCCL's methods and MPI's in one table, as where GPUs were measured beside hosts.
TEST(TimeSurfaceTest, EachNetworkOfASystemHasItsModel) {
  const auto mpi = [](const std::string& algorithm) {
    return named_cell("OMPI 4.1.5", algorithm, 32, 32, 4096);
  };
  const SurfaceCell gpus = named_cell("OMPI 4.1.5", "allreduce_nccl_ring", 8, 32, 4096);
  const TimeSurface alone({mpi("ring_ompi"), mpi("recursive_doubling_ompi")});
  const TimeSurface beside({gpus, mpi("ring_ompi"), mpi("recursive_doubling_ompi")});
  EXPECT_GT(alone.log_us(0), alone.log_us(1) + 1) << "62 rounds, and 5";
  for (const std::size_t i : {0, 1}) EXPECT_DOUBLE_EQ(beside.log_us(i + 1), alone.log_us(i));
}

// MPICH's own choice is halving for long vectors, whatever else was measured there.
TEST(TimeSurfaceTest, ALibrarysChoiceIsExpectedToTakeItsUsualTime) {
  const auto cell = [](const std::string& algorithm, std::int64_t bytes) {
    return named_cell("CRAY_MPICH 8.1.29", algorithm, 16, 16, bytes);
  };
  constexpr std::int64_t length = 64 << 20;
  const TimeSurface surface({cell("default_mpich", length), cell("rabenseifner_mpich", length),
                             cell("recursive_doubling_mpich", length), cell("default_mpich", 32),
                             cell("rabenseifner_mpich", 32), cell("recursive_doubling_mpich", 32)});
  EXPECT_DOUBLE_EQ(surface.log_us(0), surface.log_us(1));
  EXPECT_LT(surface.log_us(0), surface.log_us(2));
  EXPECT_DOUBLE_EQ(surface.log_us(3), surface.log_us(5));
  EXPECT_LT(surface.log_us(3), surface.log_us(4));
}

TEST(TuneTest, RulesNameWhatIsFasterAndLeaveTheRestToTheLibrary) {
  const TuningResult result = race_candidates(made_up_plan());
  EXPECT_EQ(result.points.size(), 3U * 12U);
  double lost = 0;
  for (const TunedPoint& point : result.points) {
    const Case& chosen = point.changes ? point.best : point.own;
    double least = std::numeric_limits<double>::max();
    for (int method = 0; method < methods; ++method) {
      least = std::min(least, made_up_time(method, chosen.workers, chosen.bytes).count());
    }
    lost += made_up_time(method_of_case(chosen), chosen.workers, chosen.bytes).count() / least - 1;
  }
  EXPECT_LT(lost / static_cast<double>(result.points.size()), 0.03);
  const SelectionTable rules = rules_of(result, "nowhere");
  ASSERT_EQ(rules.scales.size(), 3U);
  for (const ScaleRules& scale : rules.scales) {
    check_rules(scale);
    EXPECT_GT(scale.rules.size(), 1U);
    EXPECT_EQ(scale.rules.front().algorithm, "mpi:m0") << scale.workers;
    EXPECT_EQ(scale.rules.back().algorithm, "mpi:m5") << scale.workers;
  }
}

TEST(TuneTest, SaysWhenTheLibraryChoosesBest) {
  TuningPlan plan = made_up_plan();
  plan.measure = [](const Case& cell, const Sampling&) {
    Measurement measured = made_up(cell);
    if (cell.algorithm == "mpi") measured.latency_ns.assign(9, 1000);
    return measured;
  };
  for (const TunedPoint& point : race_candidates(plan).points) EXPECT_FALSE(point.changes);
}

TEST(TuneTest, WrongSumsEndIt) {
  TuningPlan plan = made_up_plan();
  plan.measure = [](const Case& cell, const Sampling&) {
    Measurement measured = made_up(cell);
    measured.wrong = 3;
    return measured;
  };
  EXPECT_THROW(race_candidates(plan), WrongResult);
}

TEST(TuneTest, StopsWhenItIsTold) {
  TuningPlan plan = made_up_plan();
  int measured = 0;
  plan.measure = [&](const Case& cell, const Sampling&) {
    ++measured;
    return made_up(cell);
  };
  plan.stop_requested = [&] { return std::string(measured < 3 ? "" : "SIGTERM"); };
  EXPECT_EQ(race_candidates(plan).stopped_by, "SIGTERM");
  EXPECT_EQ(measured, 3);
}

TEST(TuneTest, RulesThatAreNotObeyedShow) {
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

TEST(TuneTest, RoundsAreNotWastedOnARuleThatLoses) {
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

// Where the library does not say what it plays, the same algorithm by its name must be as fast.
TEST(TuneTest, ARuleIsObeyedWhereItsAlgorithmByNameIsAsFast) {
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

TEST(TuneTest, RulesThatMayLoseTimeAreTakenBack) {
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

TEST(OfflineTest, LooksAtNoMoreThanItsShareOfAMeasuredTable) {
  const std::string file = std::string(COLLBENCH_SOURCE_DIR) + "/tests/bench/tuning/pico.csv";
  const std::vector<MeasuredTime> rows = read_foreign(read_file(file), file).times;
  const std::vector<OfflineRace> few = race_offline(rows, 0.25);
  ASSERT_EQ(few.size(), 1U);
  EXPECT_LE(few.front().measurements, few.front().cells / 4);
  EXPECT_LT(few.front().mean_regret, 0.15);
  EXPECT_LT(few.front().mean_regret, *few.front().default_regret);
  EXPECT_LT(race_offline(rows, 1).front().mean_regret, 0.02);
  EXPECT_THROW(race_offline(rows, 0), InvalidArgument);
  EXPECT_THROW(race_offline({}, 0.5), InvalidArgument);
}

}  // namespace
}  // namespace collbench

// The race that `tune` runs: on made-up times, on a measured table, and to rules.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/foreign/foreign_tables.h"
#include "bench/tuning/measure_cell.h"
#include "bench/tuning/offline.h"
#include "bench/tuning/race.h"
#include "bench/tuning/tune.h"
#include "core/error.h"
#include "core/input_file.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

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
  plan.library = "openmpi";
  plan.own_choice = "mpi";
  plan.budget = Seconds{10};
  plan.measure = [](const Case& cell, const Sampling&) { return made_up(cell); };
  return plan;
}

TuningResult raced(const TuningPlan& plan) {
  Race race = race_of(plan);
  return race_candidates(plan, race);
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

TEST(TimeSurfaceTest, DriftIsLearntFromCellsThatAreMeasuredAgain) {
  const std::vector<SurfaceCell> cells{named_cell("openmpi", "ring", 1, 4, 4096),
                                       named_cell("openmpi", "linear", 1, 4, 4096)};
  const auto drift_after = [&](double apart, double deviation) {
    TimeSurface surface(cells, 0.1);
    for (int look = 0; look < 40; ++look) {
      surface.measure(0, Seconds{1e-5 * std::exp(look % 2 == 0 ? apart : -apart)}, deviation);
    }
    return surface.drift();
  };
  EXPECT_NEAR(drift_after(0.02, 0.001), 0.02, 0.02);
  EXPECT_NEAR(drift_after(0.3, 0.001), 0.3, 0.05);
  EXPECT_DOUBLE_EQ(drift_after(0.3, 0.2), 0.1) << "so much was expected of these times";
  TimeSurface other(cells, 0.1);
  for (const double each : {1e-5, 1.01e-5, 1e-5, 5e-1, 1e-5}) {
    other.measure(1, Seconds{each}, 0.001);
  }
  EXPECT_LT(other.drift(), 0.2) << "one pause";
  TimeSurface exact(cells);
  exact.measure(0, Seconds{1e-5}, 0.01);
  exact.measure(0, Seconds{2e-5}, 0.01);
  EXPECT_EQ(exact.drift(), 0);
}

// A machine whose speed drifts says little of two times, and much of two that were measured by
// turns.
TEST(TimeSurfaceTest, RatiosOfPairsAreSurerThanTimesThatDrift) {
  TimeSurface surface(
      {named_cell("openmpi", "ring", 1, 4, 4096), named_cell("openmpi", "linear", 1, 4, 4096)},
      0.1);
  const auto sure = [&] {
    return std::sqrt(surface.covariance(0, 0) + surface.covariance(1, 1) -
                     2 * surface.covariance(0, 1));
  };
  const auto apart = [&] { return surface.log_us(0) - surface.log_us(1); };
  surface.measure(0, Seconds{1.3e-5}, 0.001);
  surface.measure(1, Seconds{1e-5}, 0.001);
  const double before = sure();
  EXPECT_GT(before, 0.1);
  const double level = surface.covariance(0, 0);
  for (int pair = 0; pair < 4; ++pair) surface.measure_ratio(0, 1, 0.1);
  EXPECT_NEAR(apart(), 0.1, 0.02);
  EXPECT_LT(sure(), 0.03);
  EXPECT_GT(surface.covariance(0, 0), level / 3) << "how fast both are is not seen";
  EXPECT_DOUBLE_EQ(surface.drift(), 0.1);
  surface.measure_ratio(0, 1, 5);
  EXPECT_LT(apart(), 0.2) << "one pause";
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

// Ranks that share cores take turns: the fewest are expected to win, which among nodes lose.
TEST(TimeSurfaceTest, RanksOfOneHostAreExpectedToTakeTurnsOnItsCores) {
  const auto cells_on = [](int nodes, int cores) {
    std::vector<SurfaceCell> cells;
    for (const char* algorithm : {"linear", "recursive_doubling", "rabenseifner", "ring"}) {
      cells.push_back(named_cell("openmpi", algorithm, nodes, 8, 1024));
      cells.back().scale.cores = cores;
    }
    return cells;
  };
  const TimeSurface host(cells_on(1, 2));
  for (const std::size_t i : {0, 1, 2}) EXPECT_LT(host.log_us(i), host.log_us(i + 1)) << i;
  const TimeSurface nodes(cells_on(8, 0));
  EXPECT_GT(nodes.log_us(0), nodes.log_us(1));
}

// MPICH's ranks keep their core while they wait, until the scheduler takes it.
TEST(TimeSurfaceTest, BusyRanksThatShareCoresAreExpectedToTakeTurnsOfTheScheduler) {
  const auto of = [](const std::string& library, int ranks) {
    SurfaceCell cell = named_cell(library, "recursive_doubling", 1, ranks, 1024);
    cell.scale.cores = 2;
    return cell;
  };
  const TimeSurface surface({of("openmpi", 2), of("openmpi", 4), of("mpich", 2), of("mpich", 4)});
  EXPECT_DOUBLE_EQ(surface.log_us(0), surface.log_us(2)) << "a core for each";
  EXPECT_LT(surface.log_us(1), std::log(100));
  EXPECT_GT(surface.log_us(3), std::log(1000));
}

// The first three times of the method that is best for short vectors are those of a machine that
// stood still for 50 ms.
TEST(TuneTest, APauseRulesNoMethodOut) {
  TuningPlan plan = made_up_plan();
  std::erase_if(plan.cells, [](const Case& cell) { return cell.workers != 4; });
  std::set<std::string> seen;
  int pauses = 0;
  plan.measure = [&](const Case& cell, const Sampling&) {
    Measurement measured = made_up(cell);
    const bool is_first = seen.insert(cell.algorithm + to_string(cell.bytes)).second;
    if (is_first && cell.algorithm == "mpi:m0" && pauses++ < 3) {
      for (std::int64_t& each : measured.latency_ns) each += 50'000'000;
    }
    return measured;
  };
  const TuningResult result = raced(plan);
  EXPECT_GE(pauses, 3);
  for (const TunedPoint& point : result.points) {
    if (point.own.bytes <= Bytes{1024}) {
      EXPECT_EQ(point.best.algorithm, "mpi:m0");
    }
  }
}

// Ranks that wait busily take microseconds or a turn of the scheduler; so a job takes the mean.
TEST(TuneTest, BusyRanksThatShareCoresAreTimedByTheMean) {
  TuningPlan plan = made_up_plan();
  Case crowded;
  crowded.workers = usable_cores() + 1;
  Case alone;
  alone.workers = usable_cores();
  Measurement measured;
  measured.latency_ns = {50'000, 50'000, 50'000, 4'050'000, 50'000};
  EXPECT_DOUBLE_EQ(time_of(plan, crowded, measured).time.count(), 50e-6);
  plan.waits_busily = true;
  EXPECT_DOUBLE_EQ(time_of(plan, alone, measured).time.count(), 50e-6);
  EXPECT_DOUBLE_EQ(time_of(plan, crowded, measured).time.count(), 850e-6);
  EXPECT_NEAR(time_of(plan, crowded, measured).deviation, 0.94, 0.01) << "of the mean";
  EXPECT_GT(sampling_for(plan, crowded, false).max_time, sampling_for(plan, alone, false).max_time);
}

TEST(TuneTest, RulesNameWhatIsFasterAndLeaveTheRestToTheLibrary) {
  const TuningResult result = raced(made_up_plan());
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
  const SizeRule own{{0}, no_end, "mpi", ""};
  std::vector<int> workers;
  for (const ScaleRules& scale : rules.scales) {
    check_rules(scale);
    workers.push_back(scale.workers);
    if (scale.workers % 2 != 0) {
      EXPECT_THAT(scale.rules, testing::ElementsAre(own)) << scale.workers << " were not measured";
      continue;
    }
    ASSERT_GT(scale.rules.size(), 3U);
    EXPECT_EQ(scale.rules.front(), (SizeRule{{0}, {3}, "mpi", ""})) << "less than was measured";
    EXPECT_EQ(scale.rules[1].algorithm, "mpi:m0") << scale.workers;
    EXPECT_EQ(scale.rules[scale.rules.size() - 2].algorithm, "mpi:m5") << scale.workers;
    EXPECT_EQ(scale.rules.back(), (SizeRule{{(16 << 20) + 1}, no_end, "mpi", ""}));
  }
  EXPECT_THAT(workers, testing::ElementsAre(1, 2, 3, 4, 5, 8, 9)) << "each up to the next";
}

TEST(TuneTest, SaysWhenTheLibraryChoosesBest) {
  TuningPlan plan = made_up_plan();
  plan.measure = [](const Case& cell, const Sampling&) {
    Measurement measured = made_up(cell);
    if (cell.algorithm == "mpi") measured.latency_ns.assign(9, 1000);
    return measured;
  };
  const TuningResult result = raced(plan);
  ASSERT_FALSE(result.points.empty());
  for (const TunedPoint& point : result.points) EXPECT_FALSE(point.changes);
}

TEST(TuneTest, WrongSumsEndIt) {
  TuningPlan plan = made_up_plan();
  plan.measure = [](const Case& cell, const Sampling&) {
    Measurement measured = made_up(cell);
    measured.wrong = 3;
    return measured;
  };
  EXPECT_THROW(raced(plan), WrongResult);
}

TEST(TuneTest, StopsWhenItIsTold) {
  TuningPlan plan = made_up_plan();
  int measured = 0;
  plan.measure = [&](const Case& cell, const Sampling&) {
    ++measured;
    return made_up(cell);
  };
  plan.stop_requested = [&] { return std::string(measured < 3 ? "" : "SIGTERM"); };
  EXPECT_EQ(raced(plan).stopped_by, "SIGTERM");
  EXPECT_EQ(measured, 3);
}

// Rows of two types at one point are two contests, and "mpi" is what the library takes by itself.
TEST(OfflineTest, OnlyRowsThatDoTheSameCompete) {
  std::vector<MeasuredTime> rows;
  for (const DataType type : {DataType::f32, DataType::f16}) {
    for (const char* algorithm : {"mpi", "mpi:ring", "mpi:linear"}) {
      for (const std::int64_t bytes : {1024, 65536}) {
        MeasuredTime row;
        row.system = "host";
        row.library = "openmpi";
        row.algorithm = algorithm;
        row.scale.ranks = 4;
        row.type = type;
        row.bytes = {bytes};
        row.time = Seconds{(type == DataType::f16 ? 1e-6 : 2e-6) *
                           (std::string(algorithm) == "mpi" ? 1.5 : 1)};
        rows.push_back(row);
      }
    }
  }
  const std::vector<OfflineRace> races = race_offline(rows, 1);
  ASSERT_EQ(races.size(), 2U);
  EXPECT_EQ(races[0].system, "host openmpi f16");
  EXPECT_EQ(races[1].system, "host openmpi");
  for (const OfflineRace& race : races) {
    EXPECT_EQ(race.cells, 6);
    ASSERT_TRUE(race.default_regret.has_value());
    EXPECT_NEAR(*race.default_regret, 0.5, 1e-9);
  }
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

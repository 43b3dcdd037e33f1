// `auto` of a simulated case, and what it is compared with: one placement, one model.
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "bench/simulated/all_reduce_costs.h"
#include "bench/simulated/team.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/policies/policy.h"
#include "heuristics/synthesis/synthesise.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using namespace literals;
using testing::HasSubstr;

Case case_on(const std::string& topology, const std::string& algorithm, int workers, Bytes bytes) {
  Case point;
  point.algorithm = algorithm;
  point.backend = "sim";
  point.workers = workers;
  point.bytes = bytes;
  point.simulated.topology = topology;
  return point;
}

TEST(SimulatedAuto, RanksThatDoNotFillTheirNodesSitWhereSelectAndNcclHaveThem) {
  CaseBinder binder;
  const char* const cluster = "cluster:2xdgx-h100";
  Case point = case_on(cluster, "auto", 12, 64_MiB);
  point.algorithm = binder.decide_algorithm(point).algorithm;
  const Machine network = machine(cluster, 12);
  Question question;
  question.bytes = 64_MiB;
  question.workers = 12;
  question.nodes = 2;
  question.machine = &network;
  const Answer answer = ask(find_policy("auto"), question);
  EXPECT_EQ(point.algorithm, answer.algorithm);
  const double selected = answer.candidates.front().time->count();
  EXPECT_NEAR(measure_simulated(point, binder).exact->time.count(), selected, 0.02 * selected);

  const auto time = [&](const Case& one) { return measure_simulated(one, binder).exact->time; };
  Case ring = case_on(cluster, "ring:channels=6", 12, 64_MiB);
  const Seconds spread = time(ring);
  ring.algorithm += ":node=6";
  ring.simulated.mapping = "0,1,2,3,4,5,8,9,10,11,12,13";
  EXPECT_EQ(time(ring), spread);
  ring.simulated.mapping = "0,1,2,3,4,5,6,7,8,9,10,11";
  EXPECT_GT(time(ring), 2 * spread);
}

// Its trees carry unequal shares; equal chunks are for schedules that have none of their own.
TEST(SimulatedAuto, StepsOfTrainingPlayASynthesisedScheduleInItsOwnShares) {
  offer_synthesis();
  CaseBinder binder;
  const char* const cluster = "cluster:2xdgx-h100";
  const Seconds played =
      measure_simulated(case_on(cluster, "synth", 16, 64_MiB), binder).exact->time;
  EXPECT_EQ(AllReduceCosts(cluster, "synth", 16).exact(64_MiB), played);
}

TEST(SimulatedAuto, OneGroupOfAllRanksTakesAsLongAsNoGroups) {
  offer_synthesis();
  CaseBinder binder;
  for (const char* algorithm : {"ring:channels=8:node=8", "torus", "synth"}) {
    Case point = case_on("cluster:2xdgx-h100", algorithm, 16, 64_MiB);
    const Seconds plain = measure_simulated(point, binder).exact->time;
    point.groups = "0-15";
    EXPECT_NEAR(measure_simulated(point, binder).exact->time.count(), plain.count(),
                1e-9 * plain.count())
        << algorithm;
  }
}

TEST(SimulatedAuto, NcclOnNodesThatAreNotAlikeIsRefusedBeforeAnythingIsPlayed) {
  CaseBinder binder;
  const Case point = case_on("cluster:2xdgx-h100", "nccl", 9, 64_MiB);
  EXPECT_THAT(refusal([&] { binder.require_playable(point); }), HasSubstr("take a multiple of 2"));
}

/// A file of `calibrate` of so slow a library that its plain machine is no match for the fit.
std::string fitted_file() {
  std::vector<MeasuredTime> rows;
  for (const int nodes : {4, 8, 16}) {
    for (const char* algorithm : {"ring_ompi", "rabenseifner_ompi", "recursive_doubling_ompi"}) {
      for (std::int64_t bytes = 1 << 10; bytes <= 16 << 20; bytes *= 4) {
        MeasuredTime row;
        row.system = "system";
        row.library = "OMPI 4.1.5";
        row.algorithm = algorithm;
        row.scale = {nodes, nodes};
        row.bytes = Bytes{bytes};
        const double steps = algorithm[1] == 'i' ? 2.0 * nodes : 8;
        row.time = Seconds{9e-6 * steps + 2e-9 * static_cast<double>(bytes)};
        rows.push_back(row);
      }
    }
  }
  const std::string path = testing::TempDir() + "fitted_network.toml";
  std::ofstream(path) << to_toml(Calibration(rows), "a network", "made");
  return path;
}

TEST(SimulatedAuto, OnAFittedFileItComparesNothingWithThePlainMachine) {
  const std::string path = fitted_file();
  const Calibration fit = *calibration_of(path);
  CaseBinder binder;
  Case point = case_on(path, "auto", 8, 64_KiB);
  point.algorithm = binder.decide_algorithm(point).algorithm;
  const Machine network = machine(path, 8);
  Question question;
  question.bytes = 64_KiB;
  question.workers = question.nodes = 8;
  question.machine = &network;
  question.fitted = &fit;
  const Answer answer = ask(find_policy("auto"), question);
  const Measurement measured = measure_simulated(point, binder);
  EXPECT_THAT(measured.exact->why, HasSubstr("fitted to"));
  const double selected = answer.candidates.front().time->count();
  EXPECT_NEAR(measured.exact->time.count(), selected, 0.05 * selected);

  point = case_on(path, "auto", 8, 64_KiB);
  point.simulated.slow_hosts = "1:0.5";
  point.algorithm = binder.decide_algorithm(point).algorithm;
  EXPECT_GT(measure_simulated(point, binder).exact->messages, 0) << "which only messages show";
}

/// A file of `calibrate` of NCCL's own choices on one to four nodes.
std::string nccl_file(CollectiveKind collective) {
  std::vector<MeasuredTime> rows;
  for (const int nodes : {1, 2, 4}) {
    for (std::int64_t bytes = 1 << 10; bytes <= 1 << 28; bytes *= 4) {
      MeasuredTime row;
      row.collective = collective;
      row.system = "system";
      row.library = "NCCL 2.20.3";
      row.algorithm = "auto";
      row.scale = {8 * nodes, nodes};
      row.bytes = Bytes{bytes};
      row.time = Seconds{200e-6 * nodes + 1e-10 * static_cast<double>(bytes)};
      rows.push_back(row);
    }
  }
  const std::string path = testing::TempDir() + "nccl_" + std::string(to_string(collective));
  std::ofstream(path + ".toml") << to_toml(Calibration(rows), "a cluster", "made");
  return path + ".toml";
}

TEST(SimulatedAuto, NcclOnAFileOfItsOwnTimesTakesThose) {
  CaseBinder binder;
  const std::string cluster = "cluster:2x" + nccl_file(CollectiveKind::all_reduce);
  Case point = case_on(cluster, "nccl", 16, 1_MiB);
  const Measurement measured = measure_simulated(point, binder);
  EXPECT_THAT(measured.exact->why, HasSubstr("fitted to"));
  EXPECT_NEAR(measured.exact->time.count(), 505e-6, 50e-6);
  EXPECT_EQ(AllReduceCosts(point.simulated.topology, "nccl", 16).exact(1_MiB),
            measured.exact->time);
  point.algorithm = "nccl:ring";
  EXPECT_THAT(measure_simulated(point, binder).exact->why, HasSubstr("not by its fit"));

  const std::string others = "cluster:2x" + nccl_file(CollectiveKind::all_gather);
  EXPECT_THAT(measure_simulated(case_on(others, "nccl", 16, 1_MiB), binder).exact->why,
              HasSubstr("not by its fit"))
      << "all-gathers say nothing of all-reduces";
}

}  // namespace
}  // namespace collbench

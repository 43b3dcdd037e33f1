// Published times of TPU collectives against shipped machines. Figures:
// AI-Hypercomputer/tpu-recipes c8cfe2f (TPU7x), jax-ml/scaling-book, sharding.md (v5e), the
// all-reduce of 2.37 MB on 256 v6e chips that topologies/tpu-v6e.toml names, astra-sim-docs, TPU
// validation (v3).
#include <gtest/gtest.h>

#include "algorithms/halves.h"
#include "heuristics/calibration/fit.h"
#include "simulator/simulate.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

Scenario scenario(const std::string& topology, const std::string& algorithm, std::int64_t bytes) {
  const Machine network = machine(topology);
  const int ranks = network.topology.hosts();
  const AlgorithmSpec spec = fit_to(parse_algorithm_spec(algorithm), network.topology, ranks);
  return {.schedule = make_schedule(spec, ranks),
          .machine = network,
          .placement = place("row-major", ranks, network.topology),
          .count = bytes / 4};
}

double all_reduce_us(const std::string& topology, const std::string& algorithm,
                     std::int64_t bytes) {
  return simulate(scenario(topology, algorithm, bytes), Engine::fluid).time.count() * 1e6;
}

double all_gather_us(const std::string& topology, const std::string& algorithm,
                     std::int64_t bytes) {
  Scenario gather = scenario(topology, algorithm, bytes);
  gather.schedule = all_gather_half(gather.schedule);
  return simulate(gather, Engine::fluid).time.count() * 1e6;
}

// The chiplets of a chip gather apart: a chip receives 3/4 of two vectors over its two links, which
// is what the published rate counts.
TEST(Ironwood, AllGatherIsWithinTwoPercentOfThePublishedRates) {
  struct Published {
    std::int64_t received;
    double gigabytes_per_second;
  };
  for (const auto& [received, rate] :
       {Published{1572864, 71.7703034}, {25165824, 161.9040742}, {402653184, 178.7714158}}) {
    const double us = all_gather_us("tpu-v7:2x2x1:chips", "torus", received / 3 * 4);
    const double modelled = static_cast<double>(received) / us / 1e3;
    EXPECT_NEAR(modelled, rate, 0.02 * rate) << received;
  }
}

TEST(TpuV5e, AllGatherIsWithinAQuarterOfThePublishedTimes) {
  EXPECT_NEAR(all_gather_us("tpu-v5e:4x1", "torus", 33554432), 680, 0.25 * 680);
  EXPECT_NEAR(all_gather_us("tpu-v5e:4x1", "torus", 131072), 8, 0.25 * 8);
  // 95 % of 45 GB/s in each direction.
  const double ring_us = 10e6 / (2 * 0.95 * 45e9) * 1e6;
  EXPECT_NEAR(all_gather_us("tpu-v5e:16x1", "torus:pincer", 10000000), ring_us, 0.25 * ring_us);
}

TEST(TpuV6e, AllReduceOfAPodTakesThePublishedTime) {
  EXPECT_NEAR(all_reduce_us("tpu-v6e:16x16", "torus:pincer", 2370000), 20.0, 0.05 * 20.0);
}

TEST(TpuV3, AllReduceOfEightCoresIsLinearInTheSizeAsMeasured) {
  const double whole = all_reduce_us("tpu-v3:2x2", "torus", 469762048);
  EXPECT_NEAR(all_reduce_us("tpu-v3:2x2", "torus", 41943040) / whole, 0.093, 0.01);
  EXPECT_NEAR(all_reduce_us("tpu-v3:2x2", "torus", 117440512) / whole, 0.25, 0.01);
  EXPECT_NEAR(all_reduce_us("tpu-v3:2x2", "torus", 234881024) / whole, 0.50, 0.01);
  EXPECT_NEAR(all_reduce_us("tpu-v3:2x2", "torus", 335544320) / whole, 0.72, 0.01);
}

TEST(Concentration, SendsLessOverTheLinksThanCoresAsAnAxis) {
  const double cores_first = all_reduce_us("tpu-v3:4x4", "torus", 64 << 20);
  const double cores_as_axis = all_reduce_us("tpu-v3:4x4", "torus:dims=2x4x4:wrap=mmm", 64 << 20);
  EXPECT_LT(cores_first, 0.9 * cores_as_axis);
}

}  // namespace
}  // namespace collbench

// simgrid and fluid are the same simulator: contended or not, eager or rendezvous.
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/simulator/random_scenario.h"
#include "tests/simulator/scenarios.h"

#include "simulator/engines.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

void expect_near(Seconds value, Seconds expected, const std::string& what) {
  EXPECT_NEAR(value.count(), expected.count(), 1e-9 * std::abs(expected.count()) + 1e-24) << what;
}

void expect_agreement(const Scenario& scenario) {
  const Outcome fluid = simulate_fluid(scenario);
  const Outcome simgrid = simulate_simgrid(scenario);
  expect_near(simgrid.time, fluid.time, "time");
  EXPECT_EQ(simgrid.messages, fluid.messages);
  ASSERT_EQ(simgrid.rank_end.size(), fluid.rank_end.size());
  for (std::size_t r = 0; r < fluid.rank_end.size(); ++r) {
    expect_near(simgrid.rank_end[r], fluid.rank_end[r], "end of a rank");
  }
  ASSERT_EQ(simgrid.round_end.size(), fluid.round_end.size());
  for (std::size_t t = 0; t < fluid.round_end.size(); ++t) {
    expect_near(simgrid.round_end[t], fluid.round_end[t], "end of a round");
  }
  ASSERT_EQ(simgrid.links.size(), fluid.links.size());
  for (std::size_t l = 0; l < fluid.links.size(); ++l) {
    EXPECT_NEAR(simgrid.links[l].bytes, fluid.links[l].bytes, 1e-9 * fluid.links[l].bytes);
    expect_near(simgrid.links[l].busy, fluid.links[l].busy, "busy time of a link");
  }
}

class RandomScenario : public testing::TestWithParam<int> {};

TEST_P(RandomScenario, SchedulesOverGraphsTakeTheTimeOfFluid) {
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t seed = static_cast<std::uint64_t>(GetParam() * 1000 + i);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_agreement(random_scenario(seed));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomScenario, testing::Range(100, 105));

LinkClass link(double bytes_per_second, double latency, int level = 0) {
  return {.name = "link",
          .nominal = {bytes_per_second},
          .efficiency = 1,
          .latency = Seconds{latency},
          .level = level,
          .source = {}};
}

Topology network(const std::string& name) {
  const LinkClass nic = link(50e9, 1e-6);
  if (name == "star") return plain_star(64).topology;
  if (name == "torus") return torus({4, 4, 4}, {true, true, true}, {nic});
  if (name == "fat_tree") return fat_tree({4, 4, 4}, {1, 2, 2}, {1, 1, 1}, {nic});
  if (name == "cluster") {
    const LinkClass adapter = link(12.5e9, 2e-6, 1);
    return cluster(fully_connected(8, nic), 8, {.adapter = adapter, .adapters_per_node = 4});
  }
  return dragonfly(4, 4, 4, 1, {1, nic}, {1, nic}, {1, nic}, nic);
}

using Case = std::tuple<std::string, std::string, Posting>;
class Algorithms : public testing::TestWithParam<Case> {};

TEST_P(Algorithms, TakeTheTimeOfFluidOnEveryNetwork) {
  const auto& [name, spec, posting] = GetParam();
  Scenario scenario = plain_scenario(spec, 64, 1 << 20, {network(name), {}, {}, {}});
  scenario.posting = posting;
  expect_agreement(scenario);
  scenario.equal_chunks = false;
  scenario.count = 100'003;
  scenario.machine.costs.reduction_rate = {20e9};
  scenario.machine.costs.wire_factor = 1.1;
  scenario.machine.costs.message_gap = {Seconds{2e-7}, Seconds{1e-6}};
  scenario.disturbance.stragglers = {{5, Seconds{20e-6}}};
  expect_agreement(scenario);
}

INSTANTIATE_TEST_SUITE_P(Networks, Algorithms,
                         testing::Combine(testing::Values("star", "torus", "fat_tree", "dragonfly",
                                                          "cluster"),
                                          testing::Values("ring", "halving-doubling:order=far",
                                                          "recursive-doubling", "double-tree"),
                                          testing::Values(Posting::eager, Posting::rendezvous)));

TEST(AgreementTest, HoldsForTheTraceOfMessages) {
  Scenario scenario = plain_scenario("halving-doubling:order=far", 16, 1 << 20,
                                     {torus({4, 4}, {true, true}, {link(50e9, 1e-6)}), {}, {}, {}});
  scenario.trace_limit = 1'000'000;
  const Outcome fluid = simulate_fluid(scenario);
  const Outcome simgrid = simulate_simgrid(scenario);
  ASSERT_EQ(simgrid.transfers.size(), fluid.transfers.size());
  const auto key = [](const Transfer& t) { return std::tuple(t.round, t.from, t.to); };
  const auto sorted = [&](std::vector<Transfer> all) {
    std::sort(all.begin(), all.end(),
              [&](const Transfer& a, const Transfer& b) { return key(a) < key(b); });
    return all;
  };
  const std::vector<Transfer> a = sorted(simgrid.transfers);
  const std::vector<Transfer> b = sorted(fluid.transfers);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(key(a[i]), key(b[i]));
    EXPECT_DOUBLE_EQ(a[i].bytes, b[i].bytes);
    expect_near(a[i].ready, b[i].ready, "ready");
    expect_near(a[i].start, b[i].start, "start");
    expect_near(a[i].arrival, b[i].arrival, "arrival");
  }
}

}  // namespace
}  // namespace collbench

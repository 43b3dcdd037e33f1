// The quotient engine equals the fluid engine on whatever both can play.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"
#include "tests/simulator/random_scenario.h"
#include "tests/simulator/scenarios.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/random.h"
#include "simulator/engines.h"
#include "simulator/rank_program.h"
#include "simulator/symmetry.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

LinkClass wire(double bytes_per_second, double latency_us) {
  return {"wire", {bytes_per_second}, 1, Seconds{latency_us * 1e-6}, 0, ""};
}

// A connected graph of `hosts` hosts and no symmetry to speak of.
Topology random_network(int hosts, std::uint64_t seed) {
  RandomEngine random = random_engine(seed, "networks");
  std::vector<Cable> cables;
  for (int v = 1; v < hosts + 3; ++v) {
    cables.push_back({static_cast<Vertex>(random() % static_cast<unsigned>(v)), v,
                      static_cast<std::int32_t>(random() % 2)});
  }
  for (int i = 0; i < hosts; ++i) {
    const auto any = [&] { return static_cast<Vertex>(random() % static_cast<unsigned>(hosts)); };
    const Vertex a = any();
    const Vertex b = any();
    if (a != b) cables.push_back({a, b, 0});
  }
  return graph("random", hosts, hosts + 3, {Layout::Kind::flat, {hosts}, {}},
               {wire(25e9, 1), wire(40e9, 0.5)}, cables);
}

struct DrawnNetwork {
  std::string name;
  Topology topology;
};

std::vector<DrawnNetwork> networks() {
  const LinkClass fast = wire(50e9, 0.5);
  const LinkClass slow = wire(20e9, 1.3);
  return {{"star", star(32, fast)},
          {"torus", torus({4, 4, 2}, {true, true, true}, {fast})},
          {"mesh", torus({3, 5, 2}, {false, true, false}, {fast, slow, fast})},
          {"fat tree", fat_tree({4, 8}, {1, 2}, {1, 1}, {fast, slow})},
          {"dragonfly", dragonfly(3, 2, 3, 2, {1, slow}, {2, fast}, {1, fast}, fast)},
          {"random", random_network(32, 7)}};
}

std::size_t distinct_rounds(const Scenario& scenario) {
  const auto program = rank_program(scenario);
  return Symmetry(*program).kinds().size();
}

void expect_equal(const Scenario& scenario) {
  const Outcome fluid = simulate_fluid(scenario);
  const Outcome outcome = simulate_quotient(scenario);
  const double slack = 1e-12 * fluid.time.count() + 1e-24;
  ASSERT_EQ(outcome.rank_end.size(), fluid.rank_end.size());
  for (std::size_t r = 0; r < fluid.rank_end.size(); ++r) {
    ASSERT_NEAR(outcome.rank_end[r].count(), fluid.rank_end[r].count(), slack) << "rank " << r;
  }
  ASSERT_NEAR(outcome.time.count(), fluid.time.count(), slack);
  ASSERT_EQ(outcome.links.size(), fluid.links.size());
  for (std::size_t l = 0; l < fluid.links.size(); ++l) {
    const double bytes = fluid.links[l].bytes;
    ASSERT_NEAR(outcome.links[l].bytes, bytes, 1e-12 * bytes) << "link " << l;
    ASSERT_NEAR(outcome.links[l].busy.count(), fluid.links[l].busy.count(), slack) << "link " << l;
  }
  EXPECT_EQ(outcome.messages, fluid.messages);
  EXPECT_LE(outcome.messages_played, fluid.messages);
}

Scenario scenario_on(const DrawnNetwork& network, const std::string& spec, int ranks) {
  Scenario scenario = plain_scenario(make_schedule(spec, ranks), {network.topology, {}, "", ""});
  scenario.count = 840 * 64;
  scenario.equal_chunks = true;
  return scenario;
}

void expect_equal_on_all_networks(const std::function<void(Scenario&)>& change) {
  for (const DrawnNetwork& network : networks()) {
    for (const std::string& spec : tested_specs()) {
      for (const int ranks : {5, 8, 24}) {
        if (!allows(spec, ranks)) continue;
        SCOPED_TRACE(spec + " on " + network.name + " with " + std::to_string(ranks));
        Scenario scenario = scenario_on(network, spec, ranks);
        change(scenario);
        expect_equal(scenario);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Quotient, EqualsFluidWithEagerMessages) {
  expect_equal_on_all_networks([](Scenario& scenario) { scenario.posting = Posting::eager; });
}

TEST(Quotient, EqualsFluidWithRendezvous) {
  expect_equal_on_all_networks([](Scenario& scenario) { scenario.posting = Posting::rendezvous; });
}

TEST(Quotient, EqualsFluidWithStragglers) {
  expect_equal_on_all_networks([](Scenario& scenario) {
    scenario.disturbance.stragglers = {{3, Seconds{2e-6}}};
  });
}

TEST(Quotient, EqualsFluidWithJitter) {
  expect_equal_on_all_networks(
      [](Scenario& scenario) { scenario.disturbance.jitter = Seconds{1e-6}; });
}

TEST(Quotient, EqualsFluidWithASlowAdapter) {
  expect_equal_on_all_networks([](Scenario& scenario) {
    const Host host = 1;
    const double factor = 0.3;
    scenario.machine.topology = scenario.machine.topology.slowed({&host, 1}, {&factor, 1});
  });
}

TEST(Quotient, EqualsFluidWithCostsBeyondAlphaAndBeta) {
  expect_equal_on_all_networks([](Scenario& scenario) {
    scenario.machine.costs = {.message_latency = {{{0}, Seconds{1e-6}}, {{4096}, Seconds{2e-6}}},
                              .wire_factor = 1.1,
                              .message_cap = {11e9},
                              .reduction_rate = {30e9},
                              .per_collective = Seconds{5e-6},
                              .protocols = {},
                              .in_network = {},
                              .message_gap = {Seconds{3e-7}, Seconds{1e-6}}};
  });
}

TEST(Quotient, EqualsFluidWithChunksOfDifferentSizes) {
  expect_equal_on_all_networks([](Scenario& scenario) {
    scenario.equal_chunks = false;
    scenario.count = 54323;
  });
}

TEST(Quotient, EqualsFluidOnRandomMessages) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Scenario scenario = random_scenario(seed);
    scenario.trace_limit = 0;
    expect_equal(scenario);
    if (HasFailure()) return;
  }
}

// Runs that are long enough to be extrapolated, with hops of different latency.
TEST(Quotient, EqualsFluidOnLongRuns) {
  for (const DrawnNetwork& network : networks()) {
    for (const std::string spec : {"ring", "ring:pincer", "ring:bidirectional:segments=2",
                                   "tf-ring", "tree:segments=300", "double-tree:segments=300"}) {
      for (const int ranks : {13, 24, 30}) {
        for (const Posting posting : {Posting::eager, Posting::rendezvous}) {
          if (network.name == "mesh" && ranks > 30) continue;
          SCOPED_TRACE(spec + " on " + network.name + " with " + std::to_string(ranks));
          Scenario scenario = scenario_on(network, spec, ranks);
          scenario.posting = posting;
          expect_equal(scenario);
          scenario.disturbance.stragglers = {{2, Seconds{7e-6}}};
          expect_equal(scenario);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(Quotient, ExtrapolatesRoundsThatRepeat) {
  const Scenario scenario = plain_scenario("ring", 512, 512 * 4096, plain_star(512));
  const Outcome quotient = simulate_quotient(scenario);
  EXPECT_EQ(distinct_rounds(scenario), 2U);
  EXPECT_EQ(quotient.rank_classes, 1);
  EXPECT_LT(quotient.messages_played, 20);  // of 1,022 rounds, one each
  EXPECT_EQ(quotient.messages, 2LL * 511 * 512);
  // 2 (n-1) (alpha + chunk / B).
  EXPECT_NEAR(quotient.time.count(), 1022 * (1e-6 + 4096 / 50e9), 1e-12 * 1e-3);
  expect_equal(scenario);
}

TEST(Quotient, FindsOneClassWhereAllRanksAreAlike) {
  const Machine machine = plain_star(64);
  for (const std::string spec : {"ring", "halving-doubling", "direct", "recursive-doubling"}) {
    EXPECT_EQ(simulate_quotient(plain_scenario(spec, 64, 1 << 18, machine)).rank_classes, 1)
        << spec;
  }
}

// Each rank of `direct` meets peers inside and outside its node in an order of its own, so that the
// sum of their gaps must not depend on it.
TEST(Quotient, GapsLeaveAlikeRanksAlike) {
  LinkClass adapter = wire(20e9, 1);
  adapter.level = 1;
  const Fabric fabric{.adapter = adapter, .adapters_per_node = 4};
  Machine machine{cluster(star(4, wire(50e9, 0.5)), 8, fabric), {}, "", ""};
  machine.costs.message_gap = {Seconds{1e-7}, Seconds{0.7e-6}};
  const Outcome outcome = simulate_quotient(plain_scenario("direct", 32, 1 << 20, machine));
  EXPECT_EQ(outcome.rank_classes, 1);
}

TEST(Quotient, SplitsClassesByAStraggler) {
  Scenario scenario = plain_scenario("halving-doubling", 64, 1 << 18, plain_star(64));
  scenario.disturbance.stragglers = {{0, Seconds{1e-6}}};
  const int classes = simulate_quotient(scenario).rank_classes;
  EXPECT_GT(classes, 1);
  EXPECT_LE(classes, 64);
}

TEST(Quotient, LooksAtAllRoundsWhereChunksDiffer) {
  Scenario scenario = plain_scenario("ring", 8, 8 * 4096 + 4, plain_star(8));
  scenario.equal_chunks = false;
  EXPECT_EQ(distinct_rounds(scenario), 14U);
  scenario.equal_chunks = true;
  EXPECT_EQ(distinct_rounds(scenario), 2U);
}

TEST(Quotient, NamesAMessageWithoutPartner) {
  const Schedule schedule("odd", {2, 1, 1}, [](Rank r, int, Round& out) {
    if (r == 0) out.send(1, {0});
  });
  Scenario scenario = plain_scenario(schedule, plain_star(2));
  scenario.count = 100;
  EXPECT_THAT([&] { simulate_quotient(scenario); },
              testing::ThrowsMessage<InvalidArgument>(
                  testing::HasSubstr("rank 0 sends chunks 0 to 0 to rank 1")));
}

TEST(Quotient, RefusesDataAndTraces) {
  Scenario scenario = plain_scenario("ring", 4, 4096, plain_star(4));
  scenario.trace_limit = 5;
  EXPECT_THROW(simulate_quotient(scenario), InvalidArgument);
  scenario.trace_limit = 0;
  scenario.real_data = true;
  EXPECT_THROW(simulate_quotient(scenario), InvalidArgument);
}

}  // namespace
}  // namespace collbench

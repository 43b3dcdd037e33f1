// The model equals the fluid engine where messages do not meet on links.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "tests/simulator/scenarios.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "simulator/engines.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

// Eager: the model does not let senders wait for receivers.
void expect_exact(Scenario scenario, const std::string& what) {
  scenario.posting = Posting::eager;
  const Outcome model = simulate_model(scenario);
  const Outcome fluid = simulate_fluid(scenario);
  EXPECT_NEAR(model.time.count(), fluid.time.count(), 1e-9 * fluid.time.count()) << what;
  EXPECT_EQ(model.messages, fluid.messages) << what;
}

TEST(Model, IsExactOnAStar) {
  for (const int n : {2, 3, 8, 64, 100}) {
    for (const std::string spec :
         {"ring", "ring:bidirectional", "tf-ring", "circulant", "direct"}) {
      expect_exact(plain_scenario(spec, n, 1 << 22, plain_star(n)), spec);
    }
  }
  // With other counts, vectors of folded ranks meet the first exchange on the links of some.
  for (const int n : {2, 8, 64}) {
    for (const std::string spec : {"recursive-doubling", "halving-doubling"}) {
      expect_exact(plain_scenario(spec, n, 1 << 22, plain_star(n)), spec);
    }
  }
}

// Neighbours are nearer than others, so that ranks drift apart; no link carries two messages.
TEST(Model, IsExactForRingsWhoseHopsDiffer) {
  const LinkClass wire{"wire", {50e9}, 1, Seconds{0.5e-6}, 0, ""};
  const Machine tree{fat_tree({8, 8}, {1, 8}, {1, 1}, {wire, wire}), {}, "", ""};
  const Machine grid{torus({4, 4, 4}, {true, true, true}, {wire}), {}, "", ""};
  expect_exact(plain_scenario("ring", 64, 1 << 22, tree), "fat tree");
  expect_exact(plain_scenario("ring", 64, 1 << 22, grid), "torus");
  expect_exact(plain_scenario("ring:segments=4", 64, 1 << 22, grid), "torus, 4 segments");
}

TEST(Model, IsExactWithReductionAndOverhead) {
  Machine machine = plain_star(16);
  machine.costs.reduction_rate = {40e9};
  machine.costs.per_collective = Seconds{3e-6};
  expect_exact(plain_scenario("ring", 16, 1 << 20, machine), "ring");
  expect_exact(plain_scenario("halving-doubling", 16, 1 << 20, machine), "halving-doubling");
}

TEST(Model, IsExactWithGapsOfMessages) {
  Machine machine = plain_star(16);
  machine.costs.message_gap = {Seconds{0.3e-6}};
  for (const char* spec : {"direct", "one-shot", "reduce-broadcast", "ring"}) {
    expect_exact(plain_scenario(spec, 16, 1 << 20, machine), spec);
  }
}

TEST(Model, SeesTheContentionOfOneRound) {
  const LinkClass wire{"wire", {50e9}, 1, Seconds{0.5e-6}, 0, ""};
  const Machine grid{torus({4, 4, 4}, {true, true, true}, {wire}), {}, "", ""};
  expect_exact(plain_scenario("halving-doubling:order=far", 64, 1 << 22, grid), "far first");
}

TEST(Model, WaitsForTheLastToStart) {
  Scenario scenario = plain_scenario("ring", 8, 1 << 20, plain_star(8));
  const Outcome before = simulate_model(scenario);
  scenario.disturbance.stragglers = {{2, Seconds{1e-3}}};
  const Outcome after = simulate_model(scenario);
  EXPECT_NEAR((after.time - before.time).count(), 1e-3, 1e-12);
}

TEST(Model, RefusesDataAndTraces) {
  Scenario scenario = plain_scenario("ring", 4, 4096, plain_star(4));
  scenario.trace_limit = 5;
  EXPECT_THROW(simulate_model(scenario), InvalidArgument);
  scenario.trace_limit = 0;
  scenario.real_data = true;
  EXPECT_THROW(simulate_model(scenario), InvalidArgument);
}

}  // namespace
}  // namespace collbench

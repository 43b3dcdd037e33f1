// Trees about every rank: how they share links, and when few of them are played.
#include "heuristics/synthesis/alike_trees.h"

#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/heuristics/played_plans.h"

#include "algorithms/registry.h"
#include "algorithms/verify.h"
#include "core/json.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/synthesis/certificate.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/plan_text.h"
#include "heuristics/synthesis/shifts.h"
#include "heuristics/synthesis/synthesise.h"
#include "simulator/simulate.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

TEST(AlikeTrees, ShiftsMapANetworkOntoItself) {
  // The lists of links do not say that they are grids; 16 ranks of a hypercube are 2x2x2x2.
  for (const char* name :
       {"ring_8", "torus_4x4", "torus_2x4x4", "hypercube_4", "dgx_h100_2_rail"}) {
    const Topology network = shipped_network(name);
    const RankPaths paths(network);
    const std::vector<std::vector<Rank>> shifts = shifts_of(network, paths);
    ASSERT_EQ(std::ssize(shifts), paths.ranks()) << name;
    for (Rank by = 0; by < paths.ranks(); ++by) {
      const std::vector<Rank>& image = shifts[by];
      EXPECT_EQ(image[0], by);
      EXPECT_EQ(std::set(image.begin(), image.end()).size(), shifts.size());
      for (Rank to = 1; to < paths.ranks(); ++to) {
        EXPECT_EQ(paths.links(image[0], image[to]).size(), paths.links(0, to).size());
      }
    }
  }
  for (const char* name : {"line_6", "ring_8_cut", "mesh_3x5", "dgx_h100_4_rail_cut2"}) {
    const Topology network = shipped_network(name);
    EXPECT_THAT(shifts_of(network, RankPaths(network)), testing::SizeIs(1)) << name;
  }
  // One of two axes is closed.
  const Topology slice = shipped_network("v5e_8x16");
  const std::vector<std::vector<Rank>> shifts = shifts_of(slice, RankPaths(slice));
  ASSERT_THAT(shifts, testing::SizeIs(16));
  EXPECT_EQ(shifts[1][15], 0);
  EXPECT_EQ(shifts[1][16], 17);
}

TEST(AlikeTrees, TreesAboutEveryRankTakeTheAdapterThatIsLeastFull) {
  // All adapters of another node are equally near; taken in order, the first would be in all trees.
  const Topology nodes = machine("cluster:4xdgx-a100", 32).topology;
  const SynthesisedPlan plan = synthesise(nodes, CollectiveKind::all_reduce);
  EXPECT_TRUE(plan.whole.trees.empty());
  EXPECT_THAT(plan.packing.trees, testing::SizeIs(32));
  EXPECT_EQ(longest_way(plan.packing), 4);
  EXPECT_GE(plan.share(), 0.998);
}

TEST(AlikeTrees, SoDoThoseOfHundredsOfRanks) {
  // 264 ranks: a linear program takes minutes there, and hours of a thousand.
  const Topology nodes = machine("cluster:33xdgx-h100", 264).topology;
  const double bound =
      certify(nodes, CollectiveKind::all_reduce).bound.seconds_per_gigabyte.value() / 1e9;
  const TreePacking packing = alike_trees(nodes, CollectiveKind::all_reduce, bound, 0.002);
  EXPECT_THAT(packing.trees, testing::SizeIs(264));
  EXPECT_LE(packing.seconds_per_byte, 1.002 * bound);
}

TEST(AlikeTrees, SmallVectorsArePlayedByFewTreesLargeOnesByThoseThatFillTheLinks) {
  // The full links there take 414 trees; a rank then has some hundred messages to other nodes in a
  // round, which wait for each other.
  const Machine nodes = machine("cluster:2xdgx-h100", 16);
  SynthesisedPlan plan = synthesise(nodes.topology, CollectiveKind::all_reduce);
  ASSERT_FALSE(plan.fewer.empty());
  ASSERT_THAT(plan.fewer.back().trees, testing::SizeIs(16));
  ASSERT_GT(plan.played().trees.size(), 100);
  const MessageLadder waiting = message_ladder(nodes.costs);
  const auto trees_of = [&](Bytes bytes, const MessageLadder& messages) {
    plan.messages = messages;
    return std::ssize(playing(plan, bytes).packing->trees);
  };
  EXPECT_EQ(trees_of(Bytes{1 << 20}, waiting), 16);
  EXPECT_EQ(trees_of(Bytes{1 << 26}, waiting), 16);
  EXPECT_EQ(trees_of(Bytes{1 << 30}, {}), std::ssize(plan.played().trees));
  const auto share_said = [&](Bytes bytes) {
    const std::string json = to_json(plan.certificate, &plan, {.bytes = bytes});
    return parse_json<nlohmann::json>(json)["played_share_of_bound"].get<double>();
  };
  plan.messages = {};
  EXPECT_DOUBLE_EQ(share_said(Bytes{1 << 30}), plan.share(plan.played()));
  plan.messages = waiting;
  EXPECT_DOUBLE_EQ(share_said(Bytes{1 << 20}), plan.share(plan.fewer.back()));
  EXPECT_TRUE(verify_allreduce(to_schedule(plan, Bytes{1 << 20})).ok());
}

TEST(AlikeTrees, FewTreesThatASearchFoundPlayWhatManyWouldFillBadly) {
  const Topology star = shipped_network("star_8_slow_0p75");
  const SynthesisedPlan plan = synthesise(star, CollectiveKind::all_reduce);
  constexpr Bytes size{1 << 18};
  const TreePacking& many = plan.played();
  EXPECT_LT(4 * playing(plan, size).packing->trees.size(), many.trees.size());
  const Schedule by_many = packed_schedule(many, pipelining_for(star, many, size), "synth");
  EXPECT_LT(simulated_over_bound(plan, to_schedule(plan, size), size),
            0.95 * simulated_over_bound(plan, by_many, size));
}

/// What `synth` takes for so many bytes, over what `direct` does.
double over_direct(const Machine& machine, CollectiveKind kind, Bytes bytes) {
  const int ranks = machine.topology.hosts();
  remember_machine(machine);
  const auto time = [&](const std::string& name) {
    const AlgorithmSpec spec = fit_to(parse_algorithm_spec(name), machine.topology, ranks);
    Scenario scenario{.schedule = make_schedule(spec, ranks, bytes, {kind, 0}), .machine = machine};
    scenario.placement.resize(static_cast<std::size_t>(ranks));
    std::iota(scenario.placement.begin(), scenario.placement.end(), 0);
    scenario.count = bytes.count / 4;
    return simulate(scenario, Engine::fluid).time;
  };
  return time("synth") / time("direct");
}

TEST(ShallowTrees, CarrySmallVectors) {
  // Trees that fill the links there take up to three times as long, and four for an all-gather.
  offer_synthesis();
  for (const char* name :
       {"dragonfly:2x2x2x1:1x1x1,200Gbps,1us", "fat-tree:4x4:1x2:1x2,100Gbps,1us", "dgx-1-v100"}) {
    const Machine network = machine(name);
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      EXPECT_LE(over_direct(network, kind, Bytes{1 << 14}), 1.01) << name << " " << to_string(kind);
    }
  }
}

TEST(ShallowTrees, ShareLinksEvenly) {
  // Of the two ways to a corner that is two hops away every root would take the first.
  const TreePacking packing =
      shallow_trees(machine("torus:4x4,50GBps,1us").topology, CollectiveKind::all_gather);
  EXPECT_THAT(packing.trees, testing::SizeIs(16));
  EXPECT_EQ(longest_way(packing), 4);
  EXPECT_LE(packing.seconds_per_byte, 5.0 / 16 / 50e9) << "15 of 16 shards over 4 links: 3.75";
}

}  // namespace
}  // namespace collbench

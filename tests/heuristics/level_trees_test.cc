// Trees of the fewest hops: on tori as even in every round as in all together, on meshes in all.
#include "heuristics/synthesis/level_trees.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/heuristics/played_plans.h"

#include "algorithms/verify.h"
#include "heuristics/policies/policy.h"
#include "heuristics/synthesis/certificate.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/synthesise.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

struct Grid {
  const char* name;
  int hops;   // between the ranks that are farthest apart
  int trees;  // of each root
};

class LevelTrees : public testing::TestWithParam<Grid> {};

TEST_P(LevelTrees, FillAllLinksInEachOfTheFewestRounds) {
  const Topology network = machine(GetParam().name).topology;
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    const SynthesisedPlan plan = synthesise(network, kind);
    EXPECT_TRUE(plan.whole.trees.empty());
    EXPECT_THAT(plan.packing.trees, testing::SizeIs(network.hosts() * GetParam().trees));
    const int passes = kind == CollectiveKind::all_reduce ? 2 : 1;
    EXPECT_EQ(longest_way(plan.packing), passes * GetParam().hops);
    const Schedule one_piece = packed_schedule(plan.packing, {1, 1}, "synth");
    EXPECT_EQ(one_piece.rounds(), passes * GetParam().hops);
    EXPECT_TRUE(verify(one_piece, {kind, 0}).ok());
    EXPECT_NEAR(simulated_over_bound(plan, one_piece, Bytes{std::int64_t{1} << 28}), 1, 0.002);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tori, LevelTrees,
    testing::Values(Grid{"torus:4x8,50GBps,0us", 6, 4}, Grid{"torus:2x4x4,50GBps,0us", 5, 5},
                    Grid{"torus:3x5,50GBps,0us", 3, 2}, Grid{"torus:3x3x3,50GBps,0us", 3, 3},
                    Grid{"torus:2x2x2x2,50GBps,0us", 4, 4}, Grid{"full:7,50GBps,0us", 1, 1}));

double seconds_of_bound(const Topology& network, CollectiveKind kind) {
  return certify(network, kind).bound.seconds_per_gigabyte.value() / 1e9;
}

int farthest(const std::string& name) {
  const Topology network = shipped_network(name);
  return longest_way(shallow_trees(network, CollectiveKind::all_gather));
}

class LevelTreesWithoutShifts : public testing::TestWithParam<const char*> {};

// Meshes, tori with dead links and cubes with slow ones: no shift maps them onto themselves.
TEST_P(LevelTreesWithoutShifts, ReachTheBoundInTheFewestHops) {
  const Topology network = shipped_network(GetParam());
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    const SynthesisedPlan plan = synthesise(network, kind);
    EXPECT_TRUE(plan.whole.trees.empty());
    EXPECT_LE(plan.packing.seconds_per_byte, 1.002 * seconds_of_bound(network, kind));
    EXPECT_EQ(longest_way(plan.packing), farthest(GetParam()));
    EXPECT_LE(plan.packing.trees.size(), 4U * network.hosts());
    const Bytes large{1 << 26};
    EXPECT_TRUE(verify(packed_schedule(plan.packing, {1, 1}, "synth"), {kind, 0}).ok());
    EXPECT_LE(simulated_over_bound(plan, large), 1.005);
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, LevelTreesWithoutShifts,
                         testing::Values("mesh_3x5", "mesh_4x4", "mesh_3x3x3", "torus_4x4_cut",
                                         "fullmesh_4_cut"));

TEST(LevelTreesOfOneWayLinks, GatherAlongThemAndScatterAgainstThem) {
  const Topology ring = shipped_network("ring_5_uni");
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    const TreePacking packing = level_trees(ring, kind, seconds_of_bound(ring, kind), 0);
    ASSERT_THAT(packing.trees, testing::SizeIs(5));
    const PackedTree& tree = packing.trees.front();
    const bool gathers = kind == CollectiveKind::all_gather;
    EXPECT_EQ((gathers ? tree.broadcast : tree.reduce)[gathers ? 1 : 4], 0);
  }
  const CollectiveKind both = CollectiveKind::all_reduce;  // no tree there can be walked both ways
  EXPECT_THAT(level_trees(ring, both, 1, 0).trees, testing::IsEmpty());
}

TEST(LevelTreesOfUnequalLinks, AreDealtOutByTheirRates) {
  const Topology network = shipped_network("torus_4x4_hetero");
  constexpr double anything = 1;  // second a byte
  const TreePacking some = level_trees(network, CollectiveKind::all_gather, anything, 0);
  EXPECT_THAT(some.trees, testing::SizeIs(16));
  const std::vector<double> load = link_loads(network, some.trees);
  std::map<double, double> most;  // that a link carries, by its rate
  for (std::size_t l = 0; l < load.size(); ++l) {
    double& of_rate = most[network.capacity(static_cast<LinkId>(l))];
    of_rate = std::max(of_rate, load[l]);
  }
  ASSERT_THAT(most, testing::SizeIs(2));
  EXPECT_GT(most.rbegin()->second, most.begin()->second) << "the faster links carry more";
  const double bound = seconds_of_bound(network, CollectiveKind::all_gather);
  EXPECT_THAT(level_trees(network, CollectiveKind::all_gather, bound * 0.99, 0).trees,
              testing::IsEmpty());
}

TEST(LevelTreesOfSwitchedNetworks, AreNone) {
  const Topology network = shipped_network("dgx_h100_2_rail");
  EXPECT_THAT(level_trees(network, CollectiveKind::all_gather, 1, 0).trees, testing::IsEmpty());
}

/// The algorithms that the cost model considers there for 256 MiB, fastest first.
std::vector<std::string> considered_on(const std::string& name,
                                       CollectiveKind kind = CollectiveKind::all_reduce) {
  offer_synthesis();
  const Machine network = machine(name);
  Question question;
  question.bytes = Bytes{1 << 28};
  question.workers = network.topology.hosts();
  question.machine = &network;
  question.collective = kind;
  std::vector<std::string> names;
  for (const Candidate& each : ask(find_policy("model"), question).candidates) {
    names.push_back(each.algorithm);
  }
  return names;
}

TEST(LevelTreesOfLargeTori, AreMadeSoonEnoughToBeConsidered) {
  EXPECT_EQ(considered_on("torus:8x16,50GBps,1us").front(), "synth");
  EXPECT_EQ(considered_on("mesh:2x4x8,50GBps,1us").front(), "synth");
  // Axes that do not close: an all-reduce takes a linear program.
  const std::string mesh = "mesh:8x16,50GBps,1us";
  EXPECT_THAT(considered_on(mesh), testing::Not(testing::Contains("synth")));
  EXPECT_EQ(considered_on(mesh, CollectiveKind::all_gather).front(), "synth");
}

}  // namespace
}  // namespace collbench

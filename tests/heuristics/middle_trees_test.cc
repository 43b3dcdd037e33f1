// Trees of the fewest hops for all-reduces of networks that have a middle.
#include "heuristics/synthesis/middle_trees.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/heuristics/played_plans.h"

#include "algorithms/verify.h"
#include "heuristics/synthesis/certificate.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/synthesise.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

double least_seconds(const Topology& network) {
  const Certificate proof = certify(network, CollectiveKind::all_reduce);
  return proof.bound.seconds_per_gigabyte.value() / 1e9;
}

struct Middle {
  const char* name;
  int trees;
  int hops;  // up to the root and down again
};

class MiddleTrees : public testing::TestWithParam<Middle> {};

TEST_P(MiddleTrees, ReachTheBoundInFewHops) {
  const Topology network = shipped_network(GetParam().name);
  const SynthesisedPlan plan = synthesise(network, CollectiveKind::all_reduce);
  EXPECT_TRUE(plan.whole.trees.empty());
  EXPECT_THAT(plan.packing.trees, testing::SizeIs(GetParam().trees));
  EXPECT_EQ(longest_way(plan.packing), GetParam().hops);
  EXPECT_NEAR(plan.share(), 1, 1e-9);
  for (const PackedTree& tree : plan.packing.trees) {
    EXPECT_EQ(tree.reduce, tree.broadcast);
    EXPECT_EQ(tree.weight, 1.0 / GetParam().trees);
  }
  EXPECT_TRUE(
      verify(packed_schedule(plan.packing, {1, 1}, "synth"), {CollectiveKind::all_reduce, 0}).ok());
}

INSTANTIATE_TEST_SUITE_P(Networks, MiddleTrees,
                         testing::Values(Middle{"mesh_4x4", 8, 10}, Middle{"mesh_3x5", 11, 10},
                                         Middle{"mesh_3x3x3", 27, 10},
                                         Middle{"torus_4x4_half", 21, 8},
                                         Middle{"torus_4x4_hetero", 16, 8},
                                         Middle{"v5e_8x16", 240, 30}));

// So they play as fast as the plans of the linear program did, in fewer and larger messages.
TEST(MiddleTreesPlayed, TakeTheTimeOfTheBound) {
  const SynthesisedPlan plan = synthesise(shipped_network("mesh_4x4"), CollectiveKind::all_reduce);
  EXPECT_LE(simulated_over_bound(plan, Bytes{1 << 30}), 1.005);
}

TEST(MiddleTreesOfASlice, LoadWhatShiftsRepeatAlike) {
  const Topology slice = shipped_network("v5e_8x16");
  const TreePacking packing = middle_trees(slice, least_seconds(slice), 0);
  ASSERT_THAT(packing.trees, testing::SizeIs(240));
  std::vector<int> roots(16, 0);  // by place along the closed axis
  for (const PackedTree& tree : packing.trees) ++roots[tree.root % 16];
  EXPECT_THAT(roots, testing::Each(15));
  const std::vector<double> load = link_loads(slice, packing.trees);
  EXPECT_NEAR(std::ranges::min(load), std::ranges::max(load), 1e-12) << "all links are full";
}

TEST(MiddleTreesThatAreNotThere, AreNone) {
  // Faster than the bound; one way only; behind switches.
  const Topology mesh = shipped_network("mesh_4x4");
  EXPECT_THAT(middle_trees(mesh, 0.99 * least_seconds(mesh), 0).trees, testing::IsEmpty());
  for (const char* name : {"ring_5_uni", "dgx_h100_2_rail"}) {
    EXPECT_THAT(middle_trees(shipped_network(name), 1, 0).trees, testing::IsEmpty()) << name;
  }
  const Topology large = machine("mesh:32x33,50GBps,0us").topology;
  EXPECT_THAT(middle_trees(large, 1, 0).trees, testing::IsEmpty());
}

}  // namespace
}  // namespace collbench

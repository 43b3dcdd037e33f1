// Packings of equally heavy trees: how full they make links, and the moves that get them there.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/heuristics/played_plans.h"

#include "algorithms/verify.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/spanning_trees.h"
#include "heuristics/synthesis/synthesise.h"
#include "heuristics/synthesis/tree_pricing.h"

namespace collbench {
namespace {

TEST(WholeTrees, EquallyHeavyTreesFillLinksToTheLastMessages) {
  // Trees exchanged whole, without moving single edges, reach 0.989 of these bounds.
  for (const char* name : {"dgx_a100_2_evenodd", "fattree_4x8_4to1"}) {
    const SynthesisedPlan plan = synthesise(shipped_network(name), CollectiveKind::all_reduce);
    EXPECT_GE(plan.share(plan.played()), 0.996) << name;
    EXPECT_TRUE(verify_allreduce(packed_schedule(plan.played(), {1, 1}, "synth")).ok()) << name;
  }
}

TEST(WholeTrees, MovingAnEdgeTakesTheCheapestParentThatLeavesATree) {
  const Topology network = shipped_network("fullmesh_4");
  TreePricer pricer(network, CollectiveKind::all_gather);
  ASSERT_TRUE(pricer.moves_edges());
  const std::vector<double> even(network.links().size(), 0.1);
  pricer.price(even);
  const std::vector<Rank> star = pricer.trees()[0].broadcast;  // of rank 0, over equal links
  ASSERT_EQ(star, (std::vector<Rank>{-1, 0, 0, 0}));
  PairCosts more{4, std::vector<double>(16, 1)};
  PairCosts less = more;
  less.at(0, 2) = 3;
  const std::size_t moved = pricer.with_moved_edge(0, more, less, 0.1, 0);
  const std::vector<Rank> other = pricer.trees()[moved].broadcast;
  EXPECT_NE(other[2], 0);
  EXPECT_EQ(depth_of(other), 2);
  EXPECT_GT(pricer.deepness()[moved], pricer.deepness()[0]);
  // A hop that costs more than the move saves keeps the tree; nothing to save keeps it as well.
  EXPECT_EQ(pricer.with_moved_edge(0, more, less, 100, 0), 0U);
  EXPECT_EQ(pricer.with_moved_edge(0, more, more, 0, 0), 0U);
}

TEST(WholeTrees, LargeVectorsAreCutIntoMorePieces) {
  const Topology network = shipped_network("mesh_3x3x3");
  const SynthesisedPlan plan = synthesise(network, CollectiveKind::all_reduce);
  const auto pieces = [&](std::int64_t bytes) {
    return pipelining_for(network, plan.packing, Bytes{bytes}).pieces;
  };
  EXPECT_GT(pieces(1 << 30), pieces(1 << 26));
}

}  // namespace
}  // namespace collbench

// Trees grown one by one: proven, and near the bound, where no two adapters are alike.
#include "heuristics/synthesis/grown_trees.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "algorithms/verify.h"
#include "core/error.h"
#include "heuristics/synthesis/allreduce_bound.h"
#include "heuristics/synthesis/certificate.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

/// Nodes of GPUs behind a fast switch, each with an adapter of a random rate to the switch of its
/// rail.
Topology uneven_rails(int nodes, int gpus, unsigned seed) {
  std::minstd_rand generator(seed);
  std::string text = "from,to,bandwidth_GBps,kind\n";
  const auto both = [&](const std::string& a, const std::string& b, int rate) {
    text += fmt::format("{0},{1},{2},x\n{1},{0},{2},x\n", a, b, rate);
  };
  for (int node = 0; node < nodes; ++node) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const std::string name = fmt::format("g{}", node * gpus + gpu);
      both(name, fmt::format("s_node{}", node), 300);
      both(name, fmt::format("s_rail{}", gpu), 12 + static_cast<int>(generator() % 14));
    }
  }
  return from_edge_list(text, "rails.csv").topology;
}

double bound_of(const Topology& network, CollectiveKind goal = CollectiveKind::all_reduce) {
  return certify(network, goal).bound.seconds_per_gigabyte.value() / 1e9;
}

constexpr CollectiveKind goals[] = {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                    CollectiveKind::reduce_scatter};

TEST(GrownTrees, AreProvenAndFillUnevenAdapters) {
  for (const CollectiveKind goal : goals) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
      const Topology network = uneven_rails(3, 4, seed);
      const double bound = bound_of(network, goal);
      const TreePacking packing = grown_trees(network, goal, bound, 0.002, 1024);
      EXPECT_LE(packing.seconds_per_byte, 1.01 * bound) << to_string(goal) << seed;
      EXPECT_NEAR(packing.seconds_per_byte, seconds_per_byte(network, packing.trees), 1e-18);
      std::vector<double> weight(12, 0);
      for (const PackedTree& tree : packing.trees) {
        weight[goal == CollectiveKind::all_reduce ? 0 : tree.root] += tree.weight;
      }
      EXPECT_NEAR(weight.front(), goal == CollectiveKind::all_reduce ? 1 : 1.0 / 12, 1e-9);
      EXPECT_NEAR(weight.back(), goal == CollectiveKind::all_reduce ? 0 : 1.0 / 12, 1e-9);
      EXPECT_TRUE(verify(packed_schedule(packing, {1, 1}, "synth"), {goal, 0}).ok()) << seed;
    }
  }
}

/// Cables of two random rings through all ranks.
Topology random_cables(int ranks, unsigned seed) {
  std::minstd_rand generator(seed);
  std::set<std::pair<int, int>> cables;
  for (int ring = 0; ring < 2; ++ring) {
    std::vector<int> order(static_cast<std::size_t>(ranks));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size() - 1; i > 0; --i) {
      std::swap(order[i], order[generator() % (i + 1)]);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      cables.insert(std::minmax({order[i], order[(i + 1) % order.size()]}));
    }
  }
  std::string text = "from,to,bandwidth_GBps,kind\n";
  for (const auto& [a, b] : cables) text += fmt::format("g{0},g{1},50,x\ng{1},g{0},50,x\n", a, b);
  return from_edge_list(text, "cables.csv").topology;
}

// Of more ranks the program of all trees and cables takes minutes, or goes round in circles.
TEST(GrownTrees, FillCablesBetweenManyRanks) {
  const Topology network = random_cables(170, 1);
  for (const CollectiveKind goal : {CollectiveKind::all_reduce, CollectiveKind::all_gather}) {
    const double bound = bound_of(network, goal);
    const Packings packed = pack_trees(network, goal, bound);
    EXPECT_LE(packed.packing.seconds_per_byte, 1.005 * bound) << to_string(goal);
    EXPECT_LE(packed.packing.trees.size(), 1024U);
    EXPECT_TRUE(verify(packed_schedule(packed.packing, {1, 1}, "synth"), {goal, 0}).ok());
  }
}

TEST(GrownTrees, AreNoMoreThanAskedFor) {
  const Topology network = uneven_rails(2, 3, 1);
  EXPECT_LE(
      grown_trees(network, CollectiveKind::all_reduce, bound_of(network), 0, 100).trees.size(),
      100);
}

TEST(GrownTrees, AreNoneWhereWaysLeadInOneDirectionOnly) {
  const Topology ring =
      from_edge_list("from,to,bandwidth_GBps,kind\ng0,g1,1,x\ng1,g2,1,x\ng2,g0,1,x\n", "ring.csv")
          .topology;
  EXPECT_TRUE(grown_trees(ring, CollectiveKind::all_reduce, 1, 0, 64).trees.empty());
}

// What enters all nodes is what bounds them; the linear program agrees.
TEST(GrownTrees, TheirBoundIsProvenByGroups) {
  const Topology network = uneven_rails(4, 4, 3);
  const CapacityGraph graph = capacity_graph(network);
  const ThroughputBound bound = allreduce_bound(graph);
  EXPECT_TRUE(bound.exact);
  EXPECT_EQ(bound.groups.size(), 4);
  const AllreduceShares shares = best_allreduce_shares(graph);
  EXPECT_NEAR(bound.seconds_per_gigabyte.value() * shares.total * static_cast<double>(graph.unit),
              1e9, 10);
}

TEST(GrownTrees, PackMoreRanksThanTheLinearProgramTakes) {
  const Topology network = uneven_rails(33, 8, 1);
  const double bound = bound_of(network);
  const Packings packed = pack_trees(network, CollectiveKind::all_reduce, bound);
  EXPECT_LE(packed.packing.seconds_per_byte, 1.01 * bound);
  // Not alike, so there are no trees about every rank for small vectors.
  EXPECT_TRUE(packed.whole.trees.empty() && packed.fewer.empty());
}

TEST(GrownTrees, ShareTheRootsOfMoreRanksThanTheLinearProgramTakes) {
  const Topology network = uneven_rails(33, 8, 1);
  const double bound = bound_of(network, CollectiveKind::all_gather);
  const Packings packed = pack_trees(network, CollectiveKind::all_gather, bound);
  EXPECT_LE(packed.packing.seconds_per_byte, 1.01 * bound);
}

}  // namespace
}  // namespace collbench

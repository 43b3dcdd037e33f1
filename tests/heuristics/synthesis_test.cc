// Synthesised schedules: proven, as fast as their bound says, refused where they cannot be.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/heuristics/played_plans.h"

#include "algorithms/exchange/msccl_xml.h"
#include "algorithms/registry.h"
#include "algorithms/synthesised.h"
#include "algorithms/verify.h"
#include "core/error.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/synthesis/degraded.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/plan_text.h"
#include "heuristics/synthesis/rank_paths.h"
#include "heuristics/synthesis/spanning_trees.h"
#include "heuristics/synthesis/synthesise.h"
#include "topologies/networks/networks.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Reach {
  const char* network;
  double at_most;  // simulated time of 1 GiB over the bound
};

class SynthesisedAllReduce : public testing::TestWithParam<Reach> {};

TEST_P(SynthesisedAllReduce, IsProvenConsistentAndNearItsBound) {
  const SynthesisedPlan plan =
      synthesise(shipped_network(GetParam().network), CollectiveKind::all_reduce);
  EXPECT_GT(plan.share(), 0.999);
  EXPECT_LE(plan.share(), 1 + 1e-9);
  const Bytes large{std::int64_t{1} << 30};
  const Verification proof = verify_allreduce(to_schedule(plan, large));
  ASSERT_TRUE(proof.ok()) << proof.violations.front().what;
  EXPECT_TRUE(proof.replica_consistent);
  const double reached = simulated_over_bound(plan, large);
  EXPECT_GE(reached, 1 - 1e-9);
  EXPECT_LE(reached, GetParam().at_most);
}

INSTANTIATE_TEST_SUITE_P(Networks, SynthesisedAllReduce,
                         testing::Values(Reach{"ring_8_cut", 1.01}, Reach{"torus_4x4_cut", 1.01},
                                         Reach{"dgx1_v100_cut", 1.01}, Reach{"dgx_a100_1", 1.01},
                                         Reach{"dgx_h100_1_halfnv", 1.01},
                                         Reach{"star_8_slow_0p5", 1.01},
                                         Reach{"star_hetero_6", 1.01}, Reach{"rand_dir_1", 1.01}),
                         [](const auto& info) { return std::string(info.param.network); });

TEST(Synthesis, EquallyHeavyTreesPlayWithoutLossThroughSwitches) {
  for (const char* name : {"star_8_slow_0p75", "fattree_4x4_2to1", "dgx_a100_2_rail_nic_half"}) {
    const SynthesisedPlan plan = synthesise(shipped_network(name), CollectiveKind::all_reduce);
    for (const PackedTree& tree : plan.played().trees) {
      EXPECT_EQ(tree.weight, plan.played().trees.front().weight) << name;
    }
    EXPECT_LE(plan.played().seconds_per_byte, 1.012 * plan.packing.seconds_per_byte) << name;
    // A round of few pieces takes what the fullest link needs; links fill and empty once.
    const Pipelining coarse{5 * longest_way(plan.played()), 1};
    const double reached = simulated_over_bound(
        plan, packed_schedule(plan.played(), coarse, "coarse"), Bytes{1 << 30});
    EXPECT_LE(reached, 1.2 / plan.share(plan.played())) << name;
  }
}

TEST(Synthesis, TheNumberOfEqualTreesSuitsTheFullLinks) {
  // A GPU's adapter carries a fifth of the vector there, its NVLink nine fifths.
  const SynthesisedPlan plan =
      synthesise(shipped_network("dgx_h100_4_rail_cut2"), CollectiveKind::all_reduce);
  EXPECT_EQ(plan.whole.trees.size() % 5, 0u);
  EXPECT_LE(plan.whole.seconds_per_byte, 1.005 * plan.packing.seconds_per_byte);
  EXPECT_GE(plan.share(plan.played()), plan.share() / 1.005);
  EXPECT_THAT(plan_text(plan, Bytes{1 << 20}), HasSubstr("equally heavy trees of at most "));
}

TEST(Synthesis, LinksHaveTimeToSpareWhereThatCostsNone) {
  // Six trees would do, which fill the links of their roots; seven leave all but the slow host's
  // one fourteenth of the time.
  const SynthesisedPlan plan =
      synthesise(shipped_network("star_8_slow_0p5"), CollectiveKind::all_reduce);
  EXPECT_EQ(plan.whole.trees.size(), 7u);
  EXPECT_NEAR(plan.share(plan.played()), 1, 1e-9);
  const Topology& network = plan.certificate.topology;
  const std::vector<double> load = link_loads(network, plan.whole.trees);
  int full = 0;
  for (std::size_t l = 0; l < load.size(); ++l) {
    const double time = load[l] / network.capacity(static_cast<LinkId>(l));
    full += time > 0.95 * plan.whole.seconds_per_byte ? 1 : 0;
  }
  EXPECT_EQ(full, 2) << "the slow host's, one each way";
}

TEST(Synthesis, EndsForFourFullNodesOfACluster) {
  // Their program went round in circles when it began far from its optimum.
  const Topology cluster = machine("cluster:4xdgx-h100").topology;
  const SynthesisedPlan plan = synthesise(cluster, CollectiveKind::all_reduce);
  EXPECT_NEAR(plan.share(), 1, 0.001);
  EXPECT_LE(longest_way(plan.packing), 8);
}

TEST(Synthesis, PacksNetworksThatLookAlikeByOneTreeAboutEveryRank) {
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather}) {
    const SynthesisedPlan plan = synthesise(shipped_network("dgx_a100_16_rail"), kind);
    EXPECT_EQ(plan.packing.trees.size(), 128u);
    EXPECT_NEAR(plan.share(), 1, 1e-9);
    EXPECT_LE(longest_way(plan.packing), 4);
    const Schedule one_piece = packed_schedule(plan.packing, {}, "synth");
    EXPECT_TRUE(verify(one_piece, {kind, 0}).ok());
  }
}

TEST(Synthesis, GathersAndScattersWithEqualRoots) {
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    for (const char* name : {"dgx_a100_1", "hypercube_3", "rand_dir_1", "star_hetero_6"}) {
      const SynthesisedPlan plan = synthesise(shipped_network(name), kind);
      EXPECT_GT(plan.share(), 0.999) << name;
      const Verification proof = verify(to_schedule(plan, Bytes{1 << 26}), {kind, 0});
      EXPECT_TRUE(proof.ok()) << name << ": " << proof.violations.front().what;
      EXPECT_LE(simulated_over_bound(plan, Bytes{1 << 30}), 1.05) << name;
    }
  }
}

// As networks are whose files say which way messages take.
Topology with_given_routes(const Topology& network) {
  return {
      network.name(),
      network.hosts(),
      network.vertices(),
      network.layout(),
      {network.classes().begin(), network.classes().end()},
      {network.links().begin(), network.links().end()},
      [network](Host from, Host to, std::vector<LinkId>& out) { network.route(from, to, out); }};
}

TEST(Synthesis, RoutesThatTheNetworkFixesCostWhatTheShareSays) {
  const SynthesisedPlan plan =
      synthesise(with_given_routes(shipped_network("rand_euler_2")), CollectiveKind::all_reduce);
  EXPECT_TRUE(plan.ways.empty());
  EXPECT_LT(plan.share(), 0.9);  // its optimum takes two ways between some ranks
  // Prices of links prove that no trees over one route of each pair do better.
  EXPECT_GT(plan.packing.least_by_routes, 0.999 * plan.packing.seconds_per_byte);
  EXPECT_LE(plan.packing.least_by_routes, plan.packing.seconds_per_byte * (1 + 1e-9));
  EXPECT_THAT(plan_text(plan, Bytes{1 << 20}), HasSubstr("no trees over them reach more than"));
  EXPECT_NEAR(seconds_per_byte(plan.certificate.topology, plan.packing.trees),
              plan.packing.seconds_per_byte, 1e-18);
  EXPECT_TRUE(verify_allreduce(to_schedule(plan, Bytes{1 << 20})).ok());
}

TEST(Synthesis, FreeRoutesAreChosenSoThatTreesReachTheBound) {
  const std::pair<const char*, CollectiveKind> cases[] = {
      {"rand_euler_2", CollectiveKind::all_reduce},
      {"rand_euler_1", CollectiveKind::all_gather},
      {"rand_euler_1", CollectiveKind::reduce_scatter}};
  for (const auto& [name, kind] : cases) {
    const SynthesisedPlan plan = synthesise(shipped_network(name), kind);
    EXPECT_GT(plan.share(), 0.99) << name;
    EXPECT_LE(plan.share(), 1 + 1e-9) << name;
    EXPECT_TRUE(verify(to_schedule(plan, Bytes{1 << 20}), {kind, 0}).ok()) << name;
    EXPECT_LE(simulated_over_bound(plan, Bytes{1 << 28}), 1.012) << name;
    if (kind != CollectiveKind::all_reduce) continue;
    EXPECT_NEAR(1 / plan.one_way_seconds_per_byte / 44e9, 0.8182, 1e-3);
    EXPECT_THAT(plan_text(plan, Bytes{1 << 20}),
                HasSubstr("ways (--json lists them); over one, trees reach 81.8"));
    const std::string json = to_json(plan.certificate, &plan);
    EXPECT_THAT(json, HasSubstr("\"one_route_seconds_per_GB\""));
    EXPECT_THAT(json, HasSubstr("-> s_0 (link)"));
  }
}

// Trees that were given other roots used edges that only lead the other way.
TEST(Synthesis, NoTreesBeatTheBound) {
  const SynthesisedPlan plan =
      synthesise(shipped_network("rand_euler_2"), CollectiveKind::all_gather);
  EXPECT_LE(plan.share(plan.played()), 1 + 1e-9);
  EXPECT_GT(plan.share(plan.played()), 0.99);
  EXPECT_LE(simulated_over_bound(plan, Bytes{1 << 28}), 1.012);
}

TEST(Synthesis, RoutesOfAListAreKeptWhereTheySuffice) {
  EXPECT_TRUE(synthesise(shipped_network("dgx1_v100"), CollectiveKind::all_reduce).ways.empty());
}

TEST(RankPaths, CheapestWaysLeadThroughSwitchesOnly) {
  // 0 and 1 have a link of their own and one over the switch 3; 2 hangs on 0 and 1.
  const LinkClass link{"link", {1e9}, 1, Seconds{0}, 0, ""};
  const Topology network =
      graph("net", 3, 4, Layout{.dims = {3}, .wraps = {}}, {link},
            {{0, 1, 0, 1}, {0, 3, 0, 1}, {3, 1, 0, 1}, {0, 2, 0, 1}, {2, 1, 0, 1}});
  std::vector<double> prices(network.links().size(), 1);
  EXPECT_THAT(RankPaths(network, prices).links(0, 1), ElementsAre(0));
  prices[0] = 3;  // 2 is no switch, however cheap it is to pass
  prices[6] = prices[8] = 0;
  EXPECT_THAT(RankPaths(network, prices).links(0, 1), ElementsAre(2, 4));
  prices[0] = 2;  // as cheap, with fewer links
  EXPECT_THAT(RankPaths(network, prices).links(0, 1), ElementsAre(0));
}

TEST(Synthesis, ManyRanksShareTheirTrees) {
  const Topology network = shipped_network("switch_26_uneven");
  const std::size_t ranks = 26;
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    const SynthesisedPlan plan = synthesise(network, kind);
    EXPECT_GT(plan.share(), 0.999);
    // The same edges for every root, only that it hangs elsewhere in them.
    const std::vector<PackedTree>& trees = plan.packing.trees;
    ASSERT_EQ(trees.size() % ranks, 0U);
    const std::size_t of_each = trees.size() / ranks;
    for (std::size_t i = of_each; i < trees.size(); ++i) {
      EXPECT_EQ(trees[i].root, static_cast<Rank>(i / of_each));
      EXPECT_EQ(trees[i].weight, trees[i - of_each].weight);
    }
    const Bytes bytes{std::int64_t{1} << 24};
    EXPECT_TRUE(verify(to_schedule(plan, bytes), {kind, 0}).ok());
    EXPECT_LE(simulated_over_bound(plan, bytes), 1.1);
  }
}

TEST(Synthesis, ForLatencyItTakesTheFewestHops) {
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
    const SynthesisedPlan plan = synthesise_shallow(shipped_network("line_6"), kind);
    EXPECT_EQ(longest_way(plan.packing), kind == CollectiveKind::all_reduce ? 6 : 5);
    EXPECT_TRUE(verify(to_schedule(plan, Bytes{1}), {kind, 0}).ok());
  }
  const SynthesisedPlan star =
      synthesise_shallow(shipped_network("dgx_a100_1"), CollectiveKind::all_reduce);
  EXPECT_EQ(to_schedule(star, Bytes{1}).chunks(), 1);
  EXPECT_EQ(longest_way(star.packing), 2);
}

TEST(Synthesis, AnMscclProgramOfItIsTheSameAllReduce) {
  const SynthesisedPlan plan =
      synthesise(shipped_network("dgx1_v100_cut"), CollectiveKind::all_reduce, 64);
  EXPECT_FALSE(plan.whole.trees.empty());  // the format has chunks of one size
  const MscclExport program = to_msccl_export(plan, Bytes{1 << 30});
  EXPECT_TRUE(program.size.fits());
  const Schedule read = from_msccl_xml(program.xml);
  EXPECT_TRUE(verify_allreduce(read).ok());
  // As finely as runtimes have room for.
  EXPECT_EQ(read.chunks() % plan.whole.trees.size(), 0);
  EXPECT_EQ(msccl_size(read).steps, program.size.steps);
  EXPECT_GT(2 * program.size.steps, most_msccl_steps);
}

TEST(Synthesis, IsAnAlgorithmOfTheNetworkItRunsOn) {
  offer_synthesis();
  const Topology torus = machine("torus:4x4,50GBps,0us").topology;
  const AlgorithmSpec fitted = fit_to({"synth", {}}, torus, 16);
  EXPECT_EQ(to_string(fitted), "synth:topo=torus:4x4,50GBps,0us");
  EXPECT_EQ(parse_algorithm_spec(to_string(fitted)), fitted);
  EXPECT_TRUE(verify_allreduce(make_schedule(fitted, 16, Bytes{1 << 20})).ok());
  const Schedule gathers =
      make_schedule(fitted, 16, Bytes{1 << 20}, {CollectiveKind::all_gather, 0});
  EXPECT_TRUE(verify(gathers, {CollectiveKind::all_gather, 0}).ok());
}

std::string refusal_of(const AlgorithmSpec& spec, int ranks, CollectiveKind kind) {
  try {
    make_schedule(spec, ranks, Bytes{1 << 20}, {kind, 0});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "made";
}

TEST(Synthesis, IsCutByTheLatencyThatIsNamed) {
  offer_synthesis();
  const AlgorithmSpec fine = parse_algorithm_spec("synth:topo=" + path_of("ring_8_cut"));
  const AlgorithmSpec coarse =
      parse_algorithm_spec("synth:latency=1ms:topo=" + path_of("ring_8_cut"));
  EXPECT_EQ(coarse.options.at("latency"), "1ms");
  EXPECT_EQ(coarse.options.at("topo"), path_of("ring_8_cut"));
  EXPECT_EQ(parse_algorithm_spec(to_string(coarse)), coarse);
  EXPECT_LT(make_schedule(coarse, 8, Bytes{1 << 24}).rounds(),
            make_schedule(fine, 8, Bytes{1 << 24}).rounds() / 4);
}

TEST(Synthesis, RanksThatPlayAllTracksInStepGetOne) {
  offer_synthesis();
  const std::string text = "synth:latency=5us:topo=" + path_of("ring_8");
  const auto tracks_of = [](const AlgorithmSpec& spec) {
    return make_schedule(spec, 8, Bytes{1 << 26}).tracks().size();
  };
  EXPECT_GT(tracks_of(parse_algorithm_spec(text)), 1u);
  EXPECT_EQ(tracks_of(for_ranks_in_step(parse_algorithm_spec(text))), 0u);
  const AlgorithmSpec eight = parse_algorithm_spec("synth:tracks=8" + text.substr(5));
  EXPECT_EQ(parse_algorithm_spec(to_string(eight)), eight);
  EXPECT_EQ(tracks_of(for_ranks_in_step(eight)), 8u);
  EXPECT_EQ(for_ranks_in_step({"ring", {}}), (AlgorithmSpec{"ring", {}}));
  EXPECT_EQ(for_ranks_in_step(eight).options.at("routes"), "one");
}

TEST(Synthesis, IsRefusedWithoutANetworkThatFits) {
  offer_synthesis();
  EXPECT_THAT(refusal_of({"synth", {}}, 4, CollectiveKind::all_reduce),
              HasSubstr("name it, as in synth:topo=net.csv"));
  const AlgorithmSpec ring = parse_algorithm_spec("synth:topo=" + path_of("ring_8"));
  EXPECT_THAT(refusal_of(ring, 4, CollectiveKind::all_reduce),
              HasSubstr("has 8 hosts, and all of them take part, not 4 ranks"));
  EXPECT_THAT(refusal_of(ring, 8, CollectiveKind::broadcast), HasSubstr("synth has no broadcast"));
}

TEST(Degraded, SlowsAndRemovesLinksBothWays) {
  const Topology ring = shipped_network("ring_8");
  const CapacityGraph whole = capacity_graph(ring);
  EXPECT_EQ(capacity_graph(degraded(ring, "link g0>g1:0")).arcs.size(), whole.arcs.size() - 2);
  const Topology printed = degraded(ring, "link " + ring.link_name(0) + ":0");
  EXPECT_EQ(capacity_graph(printed).arcs.size(), whole.arcs.size() - 2);
  const Certificate slow =
      certify(degraded(ring, "link g0>g1:0.5, host 3:0.5"), CollectiveKind::all_gather);
  const Certificate fast = certify(ring, CollectiveKind::all_gather);
  EXPECT_GT(slow.bound.seconds_per_gigabyte.value(), fast.bound.seconds_per_gigabyte.value());
  EXPECT_THAT(to_text(dead_link(fast)), HasSubstr("2 times the time"));
}

TEST(Degraded, RefusesWhatIsNotThere) {
  const Topology ring = shipped_network("ring_8");
  const auto refused = [&](const char* list) -> std::string {
    try {
      degraded(ring, list);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refused("link g0>g9:0.5"), HasSubstr("has no 'g9'"));
  EXPECT_THAT(refused("link g0>g2:0.5"), HasSubstr("no link joins g0 and g2"));
  EXPECT_THAT(refused("link g0>g1:2"), HasSubstr("needs a share from 0 to 1"));
  EXPECT_THAT(refused("rank 3:0.5"), HasSubstr("should begin with 'link' or 'host'"));
  EXPECT_THAT(refused("link g0>g1:0, link g4>g5:0"), HasSubstr("no path leads"));
}

/// The cost of the cheapest tree away from `root`, by trying all parents.
double cheapest_by_trial(const PairCosts& costs, Rank root) {
  const int n = costs.ranks;
  double best = INFINITY;
  int all = 1;
  for (int i = 0; i < n; ++i) all *= n;
  for (int code = 0; code < all; ++code) {
    double cost = 0;
    std::vector<Rank> parent(n);
    int rest = code;
    for (int v = 0; v < n; ++v, rest /= n) parent[v] = v == root ? -1 : rest % n;
    bool is_tree = true;
    for (int v = 0; v < n && is_tree; ++v) {
      int at = v;
      for (int steps = 0; at >= 0 && steps < n; ++steps) at = parent[at];
      is_tree = at < 0;
      if (v != root) cost += costs.at(parent[v], v);
    }
    if (is_tree) best = std::min(best, cost);
  }
  return best;
}

TEST(SpanningTrees, AreTheCheapest) {
  std::uint64_t state = 7;
  for (int trial = 0; trial < 40; ++trial) {
    PairCosts costs{5, std::vector<double>(25)};
    for (double& cost : costs.cost) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      cost = 1 + static_cast<double>(state >> 61);
    }
    for (Rank root = 0; root < 5; ++root) {
      const std::vector<Rank> parents = cheapest_arborescence(costs, root);
      double sum = 0;
      for (Rank v = 0; v < 5; ++v) sum += v == root ? 0 : costs.at(parents[v], v);
      EXPECT_EQ(parents[root], -1);
      EXPECT_EQ(sum, cheapest_by_trial(costs, root));
    }
  }
}

TEST(Plan, IsToldWithItsProofAndDrawn) {
  const SynthesisedPlan plan = synthesise(shipped_network("dgx1_v100"), CollectiveKind::all_reduce);
  EXPECT_THAT(plan_text(plan, Bytes{1 << 20}), HasSubstr("% of the bound"));
  EXPECT_THAT(plan_text(plan, Bytes{1 << 20}), HasSubstr("proven"));
  EXPECT_THAT(to_json(plan.certificate, &plan), HasSubstr("\"share_of_bound\""));
  EXPECT_THAT(trees_to_dot(plan), HasSubstr("label=\"g0\""));
  const SynthesisedPlan torus =
      synthesise(machine("torus:4x4,50GBps,1us").topology, CollectiveKind::all_reduce);
  EXPECT_THAT(trees_to_dot(torus), HasSubstr("r5 [label=\"host 5\", pos=\"1.90,-1.30!\"]"));
}

}  // namespace
}  // namespace collbench

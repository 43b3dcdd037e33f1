// How finely trees are cut, and whether their rounds then take what is expected.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/heuristics/played_plans.h"

#include "algorithms/verify.h"
#include "core/error.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/policies/policy.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/synthesise.h"
#include "simulator/simulate.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

TEST(Pipelining, PiecesThatGainNothingAreNotCut) {
  // One switch: sums fill all links, and then copies do.
  const Topology network = shipped_network("dgx_a100_1").with_latency(Seconds{1e-6});
  const SynthesisedPlan plan = synthesise(network, CollectiveKind::all_reduce);
  const Bytes bytes{1 << 30};
  const Pipelining chosen = pipelining_for(network, plan.played(), bytes);
  EXPECT_EQ(chosen.pieces, 1);
  const double bound = bound_of(plan, bytes).count();
  EXPECT_NEAR(simulated_over_bound(plan, bytes), 1 + 4e-6 / bound, 1e-6);
  EXPECT_NEAR(chosen.time.count(), bound + 4e-6, 1e-9);
}

TEST(Pipelining, TheTimeOfRoundsIsCountedFromTheLinksTheyLoad) {
  // A line: the first rounds load its ends only, and all of them one link in the middle.
  const SynthesisedPlan line = synthesise(shipped_network("line_6"), CollectiveKind::all_reduce);
  for (const int pieces : {1, 2, 3, 5, 8, 40}) {
    const Topology& network = line.certificate.topology;
    const Bytes bytes{std::int64_t{pieces} * std::ssize(line.packing.trees) * 1024};
    const Pipelining chosen = pipelining_for(network, line.packing, bytes);
    const Schedule schedule = packed_schedule(line.packing, chosen, "synth");
    const double simulated = simulated_over_bound(line, schedule, bytes);
    // Ranks that have all they need begin their next round before the others do.
    EXPECT_NEAR(chosen.time / bound_of(line, bytes), simulated, 0.06 * simulated) << chosen.pieces;
  }
}

TEST(Pipelining, SmallPiecesAreCutEvenlyWhereTheyCanBe) {
  // 16,384 elements for each tree.
  const Topology network = shipped_network("dgx1_v100_cut");
  TreePacking trees = synthesise(network, CollectiveKind::all_gather).packing;
  const auto elements_of = [&](std::int64_t elements) {
    const Bytes bytes{4 * elements};
    return static_cast<double>(elements) /
           (static_cast<double>(trees.trees.size()) * pipelining_for(network, trees, bytes).pieces);
  };
  const std::int64_t divisible = std::ssize(trees.trees) << 14;
  EXPECT_EQ(elements_of(divisible), std::floor(elements_of(divisible)));
  EXPECT_NEAR(elements_of(divisible + 1), elements_of(divisible), 0.3 * elements_of(divisible));
}

TEST(Pipelining, SoManyPiecesThatClassesPlayThemAreEqual) {
  // 128 trees, each 16 times.
  const Topology network = shipped_network("dgx_a100_16_rail");
  TreePacking packing = synthesise(network, CollectiveKind::all_reduce).packing;
  ASSERT_EQ(packing.trees.size(), 128U);
  for (PackedTree& tree : packing.trees) tree.weight /= 16;
  for (int i = 128; i < 2048; ++i) {
    const PackedTree again = packing.trees[static_cast<std::size_t>(i % 128)];
    packing.trees.push_back(again);
  }
  const auto pieces_of = [&](std::int64_t elements) {
    return pipelining_for(network, packing, Bytes{4 * elements}).pieces;
  };
  constexpr std::int64_t elements = 1 << 28;
  EXPECT_EQ(pieces_of(elements), 128);
  const int uneven = pieces_of(elements + 4096);  // as many would fill the links well enough
  EXPECT_GT(uneven, 64);
  EXPECT_LT(uneven, 128);
}

TEST(Pipelining, TracksHideTheLatencyOfRounds) {
  for (const char* name : {"ring_8_cut", "dgx1_v100"}) {
    const Topology network = shipped_network(name).with_latency(Seconds{1e-6});
    const SynthesisedPlan plan = synthesise(network, CollectiveKind::all_reduce);
    const Bytes bytes{1 << 26};
    const Pipelining chosen = pipelining_for(network, plan.played(), bytes);
    EXPECT_GT(chosen.tracks, 1) << name;
    const double reached = simulated_over_bound(plan, bytes);
    EXPECT_LE(reached, 1.035) << name;
    // Not so where all ranks keep one step.
    const Schedule in_step = packed_schedule(plan.played(), {chosen.pieces, 1}, "in step");
    EXPECT_GT(simulated_over_bound(plan, in_step, bytes), 1.01 * reached) << name;
  }
}

TEST(Pipelining, ModelsPriceRoundsThatOverlapAsTheyArePlayed) {
  offer_synthesis();
  const Machine nodes = machine("cluster:2xmi300x", 16);
  Question question;
  question.machine = &nodes;
  question.workers = 16;
  question.nodes = 2;
  for (const std::int64_t bytes : {1 << 22, 1 << 26, 1 << 28}) {
    question.bytes = Bytes{bytes};
    const Answer answer = ask_model(question);
    const auto synth = std::find_if(answer.candidates.begin(), answer.candidates.end(),
                                    [](const Candidate& c) { return c.algorithm == "synth"; });
    ASSERT_NE(synth, answer.candidates.end());
    const Scenario scenario{
        .schedule = make_schedule("synth:topo=cluster:2xmi300x", 16, question.bytes),
        .machine = nodes,
        .placement = place("row-major", 16, nodes.topology),
        .count = bytes / 4,
        .protocol = synth->protocol};
    const double played = simulate(scenario, Engine::fluid).time.count();
    // The rounds of a track added up take twice as long at 64 MiB.
    EXPECT_NEAR(synth->time->count(), played, 0.2 * played) << bytes;
    if (bytes == 1 << 26) {
      EXPECT_EQ(answer.algorithm, "synth");
    }
  }
}

/// The least that a schedule takes by any protocol of the machine, simulated.
double least_time(const Machine& at, const std::string& name, Bytes bytes) {
  const int ranks = at.topology.hosts();
  const AlgorithmSpec spec = fit_to(parse_algorithm_spec(name), at.topology, ranks);
  double least = std::numeric_limits<double>::infinity();
  for (const Protocol& protocol : at.costs.protocols) {
    const Scenario scenario{.schedule = make_schedule(spec, ranks, bytes),
                            .machine = at,
                            .placement = place("row-major", ranks, at.topology),
                            .count = bytes.count / 4,
                            .protocol = protocol.name};
    least = std::min(least, simulate(scenario, Engine::fluid).time.count());
  }
  return least;
}

TEST(Pipelining, MessagesOfARoundWaitForThoseOfThatRoundByTheProtocolThatSuits) {
  // Of the 120 messages that a rank sends no round has more than a few for another node.
  offer_synthesis();
  const Machine nodes = machine("cluster:2xdgx-1-v100", 16);
  remember_machine(nodes);
  double before = 0;
  for (const std::int64_t bytes : {1 << 16, 1 << 18, 1 << 20}) {
    const double time = least_time(nodes, "synth", Bytes{bytes});
    EXPECT_LE(time, 1.01 * least_time(nodes, "halving-doubling", Bytes{bytes})) << bytes;
    EXPECT_GT(time, before) << bytes << ": no size takes less than a smaller one";
    before = time;
  }
}

TEST(Pipelining, TracksThatWaitForLatencyStillFillLinks) {
  // One track takes 1.22 to 1.25 times as long.
  const Topology mesh = machine("mesh:4x4,50GBps,1us").topology;
  const SynthesisedPlan plan = synthesise(mesh, CollectiveKind::all_reduce);
  for (const std::int64_t bytes : {1 << 19, 1 << 22}) {
    const Pipelining chosen = pipelining_for(mesh, plan.played(), Bytes{bytes});
    EXPECT_GT(chosen.tracks, 1) << bytes;
    const double simulated =
        bound_of(plan, Bytes{bytes}).count() *
        simulated_over_bound(plan, packed_schedule(plan.played(), chosen, "synth"), Bytes{bytes});
    EXPECT_NEAR(chosen.time.count(), simulated, 0.2 * simulated) << bytes;
  }
}

TEST(Pipelining, TracksOfUnequalPiecesDoNotComeIntoStep) {
  struct Case {
    const char* network;
    double at_most;  // 1.12 and 1.06 with equal pieces
  };
  for (const auto& [name, at_most] : {Case{"dgx1_v100_cut", 1.05}, Case{"pcie_8", 1.01}}) {
    const Topology network = shipped_network(name).with_latency(Seconds{1e-6});
    const SynthesisedPlan plan = synthesise(network, CollectiveKind::all_reduce);
    EXPECT_LE(simulated_over_bound(plan, Bytes{1 << 26}), at_most) << name;
  }
}

TEST(Pipelining, LatencyIsThatOfTheWayThatMessagesTake) {
  // One-way links: there is no way from a parent of a reduction to its children.
  const Topology network = shipped_network("ring_5_uni").with_latency(Seconds{1e-6});
  const SynthesisedPlan plan = synthesise(network, CollectiveKind::all_reduce);
  const auto expected = [&](const Topology& at) {
    return pipelining_for(at, plan.played(), Bytes{1 << 26}).time.count();
  };
  EXPECT_GT(expected(network), expected(shipped_network("ring_5_uni")) + 1e-6);
}

TEST(Pipelining, PiecesGrowFromTrackToTrackAndCoverTheVector) {
  const SynthesisedPlan plan = synthesise(shipped_network("ring_8"), CollectiveKind::all_reduce);
  const Schedule schedule = packed_schedule(plan.packing, {32, 8}, "synth");
  EXPECT_EQ(schedule.tracks().size(), 8u);
  EXPECT_TRUE(verify_allreduce(schedule).ok());
  const std::int64_t count = 1 << 22;
  const auto size = [&](int chunk) {
    return schedule.partition()(chunk + 1, count, 4) - schedule.partition()(chunk, count, 4);
  };
  for (int piece = 0; piece < 7; ++piece) EXPECT_LT(size(piece), size(piece + 1));
  for (int piece = 8; piece < 15; ++piece) {
    EXPECT_GT(std::abs(size(piece) - size(piece + 1)), size(piece) / 8) << "tracks differ";
    EXPECT_NEAR(static_cast<double>(size(piece)), static_cast<double>(size(piece + 8)), 16);
  }
  EXPECT_EQ(schedule.partition()(0, count, 4), 0);
  EXPECT_EQ(schedule.partition()(schedule.chunks(), count, 4), count);
}

TEST(Pipelining, RefusesPiecesThatTracksDoNotShare) {
  const SynthesisedPlan plan = synthesise(shipped_network("ring_8"), CollectiveKind::all_reduce);
  try {
    packed_schedule(plan.packing, {10, 4}, "synth");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("10 pieces cannot be dealt to 4 tracks"));
  }
}

TEST(Pipelining, SmallVectorsAreCutLess) {
  const SynthesisedPlan plan = synthesise(shipped_network("ring_8_cut").with_latency(Seconds{5e-6}),
                                          CollectiveKind::all_reduce);
  const Schedule small = to_schedule(plan, Bytes{4096});
  const Schedule large = to_schedule(plan, Bytes{1 << 28});
  EXPECT_LT(small.rounds(), 16);
  EXPECT_GT(large.rounds(), 10 * small.rounds());
  EXPECT_TRUE(verify_allreduce(small).ok());
}

}  // namespace
}  // namespace collbench

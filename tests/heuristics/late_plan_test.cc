// All-reduces for late ranks: proven, faster than waiting for all, refused where they cannot be.
#include "heuristics/synthesis/late_plan.h"

#include <algorithm>
#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/heuristics/played_plans.h"

#include "algorithms/registry.h"
#include "algorithms/verify.h"
#include "core/error.h"
#include "heuristics/synthesis/pipelining.h"
#include "heuristics/synthesis/plan_text.h"
#include "simulator/simulate.h"
#include "topologies/import/import_topology.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

constexpr Bytes late_size{1 << 28};

Topology network_called(const std::string& name) {
  return import_topology_file(COLLBENCH_SOURCE_DIR "/tests/heuristics/networks/" + name + ".csv")
      .topology;
}

/// Simulated time from when the ranks of `delays` have come.
double simulated_after(const Topology& topology, const Schedule& schedule, const Delays& delays) {
  Scenario scenario{.schedule = schedule, .machine = {topology, {}, {}, {}}};
  scenario.placement.resize(topology.hosts());
  std::iota(scenario.placement.begin(), scenario.placement.end(), 0);
  scenario.count = late_size.count / 4;
  scenario.disturbance.stragglers = delays;
  double last = 0;
  for (const auto& [rank, delay] : delays) last = std::max(last, delay.count());
  return simulate(scenario, Engine::fluid).time.count() - last;
}

TEST(LatePlanTest, AmongEqualsItTakesTheTimeOfOneVectorAfterwards) {
  const Topology star = machine("star:8,100Gbps,0us").topology;
  const Delays delays{{3, Seconds{0.1}}};
  const LatePlan late = synthesise_late(star, delays, late_size);
  ASSERT_TRUE(late.adds_up_early());
  // M/B against 2 (n-1)/n M/B.
  EXPECT_NEAR(late.after / late.at_least, 1, 0.01);
  EXPECT_NEAR(late.usual / late.after, 2 * 7 / 8.0, 0.02);
  const Schedule schedule = to_schedule(late.plan, late_size);
  EXPECT_TRUE(verify_allreduce(schedule).ok());
  EXPECT_TRUE(verify_allreduce(schedule).replica_consistent);
  EXPECT_LE(simulated_after(star, schedule, delays), 1.05 * late.after.count());
}

TEST(LatePlanTest, OnAnyNetworkItIsFasterThanWaitingForAll) {
  for (const char* name : {"torus_4x4", "dgx1_v100", "hypercube_3"}) {
    const Topology topology = network_called(name);
    const Delays delays{{1, Seconds{0.5}}, {2, Seconds{0.2}}};
    const LatePlan late = synthesise_late(topology, delays, late_size);
    ASSERT_TRUE(late.adds_up_early()) << name;
    EXPECT_LT(late.early.count(), 0.5) << name;
    EXPECT_LT(late.after.count(), 0.95 * late.usual.count()) << name;
    EXPECT_GE(late.after.count(), late.at_least.count() * (1 - 1e-9)) << name;
    const Schedule schedule = to_schedule(late.plan, late_size);
    const Verification proof = verify_allreduce(schedule);
    EXPECT_TRUE(proof.ok() && proof.replica_consistent) << name;
    EXPECT_LE(simulated_after(topology, schedule, delays), 1.05 * late.after.count()) << name;
  }
}

// A part of the vector is added up early, the rest waits.
TEST(LatePlanTest, AShortDelayHidesWhatItCan) {
  const Topology star = machine("star:8,100Gbps,0us").topology;
  for (const double delay : {0.002, 0.01}) {
    const Delays delays{{3, Seconds{delay}}};
    const LatePlan late = synthesise_late(star, delays, late_size);
    ASSERT_TRUE(late.adds_up_early()) << delay;
    EXPECT_LE(late.early.count(), delay * 1.001);
    EXPECT_GE(late.usual.count() - late.after.count(), 0.75 * delay);
    EXPECT_NEAR(late.at_least.count(), late.usual.count() - delay, 1e-9);
    const Schedule schedule = to_schedule(late.plan, late_size);
    const Verification proof = verify_allreduce(schedule);
    EXPECT_TRUE(proof.ok() && proof.replica_consistent) << delay;
    EXPECT_LE(simulated_after(star, schedule, delays), 1.05 * late.after.count()) << delay;
  }
}

// Pieces fill and leave the trees twice; counted as if once, they would be too few.
TEST(LatePlanTest, IsCutForWhatComesBeforeAndWhatComesAfter) {
  const Topology network = network_called("dgx1_v100");
  const Delays delays{{3, Seconds{0.001}}};
  const LatePlan late = synthesise_late(network, delays, late_size);
  ASSERT_TRUE(late.adds_up_early());
  const double time = pipelining_for(network, late.plan.played(), late_size).time.count();
  EXPECT_GE(time, (late.early + late.after).count());
  EXPECT_LE(time, 1.05 * (late.early + late.after).count());
}

// By the fullest links both take less than waiting. With latencies, the one is faster with few
// tracks than with as many as usually suit, the other does not pay at all.
TEST(LatePlanTest, IsChosenByPlaying) {
  const auto chosen = [](const char* network, Seconds delay, Bytes bytes) {
    const Machine played = machine(network);
    LatePlan late = synthesise_late(played.topology, {{3, delay}}, bytes);
    EXPECT_TRUE(late.adds_up_early());
    late.plan.messages = message_ladder(played.costs);
    const Seconds usual = played_time(to_schedule(late.plan, bytes), played, late.delays, bytes);
    choose_by_playing(late, played, bytes, 0, played_time);
    const Seconds time = played_time(to_schedule(late.plan, bytes), played, late.delays, bytes);
    EXPECT_LT(time, usual);
    EXPECT_NEAR((time - delay).count(), std::min(late.played, late.played_waiting).count(), 1e-9);
    return late;
  };
  const LatePlan early = chosen("star:4,100Gbps,5us", Seconds{1e-3}, Bytes{64 << 20});
  EXPECT_TRUE(early.adds_up_early());
  EXPECT_GT(early.plan.tracks, 1);
  EXPECT_LT(early.plan.tracks, 8);
  EXPECT_THAT(to_text(early), HasSubstr("latencies included"));
  const LatePlan waiting = chosen("full:4,100Gbps,5us", Seconds{1e-4}, Bytes{64 << 10});
  EXPECT_FALSE(waiting.adds_up_early());
  EXPECT_THAT(to_text(waiting), HasSubstr("waiting for all is faster in simulation"));
}

TEST(LatePlanTest, IsAnOptionOfTheAlgorithm) {
  offer_synthesis(played_time);
  const AlgorithmSpec spec =
      parse_algorithm_spec("synth:late=1+3:delay=50ms:topo=star:8,100Gbps,0us");
  EXPECT_EQ(parse_algorithm_spec(to_string(spec)), spec);
  const Schedule schedule = make_schedule(spec, 8, Bytes{1 << 24});
  EXPECT_TRUE(verify_allreduce(schedule).ok());
  // The late ranks have nothing to do while the others add up.
  Round round;
  schedule.round(1, 0, round);
  EXPECT_TRUE(round.ops().empty());
  schedule.round(0, 0, round);
  EXPECT_FALSE(round.ops().empty());
}

TEST(LatePlanTest, RefusesWhatCannotBe) {
  const auto refused = [](const Topology& topology, const Delays& delays) -> std::string {
    try {
      synthesise_late(topology, delays, late_size);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "made";
  };
  const Topology line = network_called("line_6");
  const Seconds ms{1e-3};
  EXPECT_THAT(refused(line, {{6, ms}}), HasSubstr("has the ranks 0 to 5, not 6"));
  EXPECT_THAT(refused(line, {{2, ms}, {2, ms}}), HasSubstr("rank 2 is named twice"));
  EXPECT_THAT(refused(line, {{2, Seconds{0}}}), HasSubstr("some of the 6 ranks have to be late"));
  EXPECT_THAT(refused(line, {{2, ms}}), HasSubstr("the others cannot add up"));
  EXPECT_THAT(refused(line, {{0, ms}}), HasSubstr("made"));
}

TEST(LatePlanTest, IsToldInWordsAndAsJson) {
  const Topology star = machine("star:4,100Gbps,0us").topology;
  const LatePlan late = synthesise_late(star, {{3, Seconds{0.1}}}, late_size);
  EXPECT_THAT(to_text(late), HasSubstr("rank 3 by 100 ms: the others add up before"));
  EXPECT_THAT(plan_text(late.plan, late_size), Not(HasSubstr("of the bound")));
  const std::string json = to_json(late.plan.certificate, &late.plan, {.late = &late});
  EXPECT_THAT(json, HasSubstr("\"usual_after_s\""));
  EXPECT_THAT(json, Not(HasSubstr("share_of_bound")));
}

TEST(LatePlanTest, TakesOneRouteForEachPair) {
  const LatePlan late =
      synthesise_late(shipped_network("rand_euler_1"), {{0, Seconds{1}}}, Bytes{1 << 20});
  EXPECT_TRUE(late.plan.ways.empty());
}

}  // namespace
}  // namespace collbench

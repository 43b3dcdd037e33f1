// Schedules of the registry where they are faster than trees.
#include <algorithm>

#include <gtest/gtest.h>

#include "algorithms/verify.h"
#include "core/error.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/synthesis/synthesise.h"
#include "simulator/simulate.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

constexpr const char* two_nodes = "cluster:2xdgx-1-v100";

TimeOf played_on(const Machine& at, Bytes bytes) {
  return [&at, bytes](const Schedule& schedule) { return played_time(schedule, at, {}, bytes); };
}

SynthesisedPlan plan_of(const Machine& at) {
  SynthesisedPlan plan = synthesise(at.topology, CollectiveKind::all_reduce);
  plan.messages = message_ladder(at.costs);
  return plan;
}

TEST(KnownSchedules, NoneOfTheRegistryIsFasterThanWhatSmallVectorsPlay) {
  const Machine at = machine(two_nodes, 16);
  SynthesisedPlan plan = plan_of(at);
  for (const std::int64_t bytes : {1 << 10, 1 << 14, 1 << 20}) {
    const TimeOf time_of = played_on(at, Bytes{bytes});
    add_known(plan, Bytes{bytes}, 0, time_of);
    const Schedule played = to_schedule(plan, Bytes{bytes});
    EXPECT_TRUE(verify_allreduce(played).ok()) << bytes;
    const Seconds time = time_of(played);
    for (const char* name : {"ring", "recursive-doubling", "halving-doubling", "bine", "direct",
                             "hierarchical:inner=direct:outer=direct"}) {
      const AlgorithmSpec spec = fit_to(parse_algorithm_spec(name), at.topology, 16);
      EXPECT_LE(time.count(), 1.002 * time_of(make_schedule(spec, 16, Bytes{bytes})).count())
          << name << ' ' << bytes;
    }
    EXPECT_EQ(plan.known.has_value(), bytes < 1 << 20) << "trees are faster from there on";
    EXPECT_EQ(plan.instead(), plan.known ? &plan.known->schedule : nullptr);
    if (plan.known) {
      EXPECT_LT(plan.known->time, plan.known->trees);
    }
  }
}

TEST(KnownSchedules, AreNotLookedForWhereTreesAreNearTheBound) {
  const Machine at = machine("dgx-a100", 8);
  SynthesisedPlan plan = plan_of(at);
  const TimeOf never = [](const Schedule&) -> Seconds { throw Error("it was played"); };
  add_known(plan, Bytes{1 << 30}, 0, never);
  EXPECT_FALSE(plan.known.has_value());
  EXPECT_THROW(add_known(plan, Bytes{1 << 10}, 0, never), Error);
}

TEST(KnownSchedules, AreWhatSynthPlaysUnlessOnlyTreesAreAskedFor) {
  remember_machine(machine(two_nodes, 16));
  const std::string network = std::string(":topo=") + two_nodes;
  const Bytes bytes{1 << 14};
  offer_synthesis();
  const int trees = make_schedule("synth" + network, 16, bytes).chunks();
  offer_synthesis(played_time);
  EXPECT_NE(make_schedule("synth" + network, 16, bytes).chunks(), trees);
  EXPECT_EQ(make_schedule("synth:trees" + network, 16, bytes).chunks(), trees);
  offer_synthesis();
}

}  // namespace
}  // namespace collbench

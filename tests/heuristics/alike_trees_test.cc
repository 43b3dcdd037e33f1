// Trees about every rank: how they share links, and when few of them are played.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "algorithms/verify.h"
#include "heuristics/synthesis/packed_schedule.h"
#include "heuristics/synthesis/plan_text.h"
#include "heuristics/synthesis/synthesise.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

TEST(AlikeTrees, TreesAboutEveryRankTakeTheAdapterThatIsLeastFull) {
  // All adapters of another node are equally near; taken in order, the first would be in all trees.
  const Topology nodes = machine("cluster:4xdgx-a100", 32).topology;
  const SynthesisedPlan plan = synthesise(nodes, CollectiveKind::all_reduce);
  EXPECT_TRUE(plan.whole.trees.empty() && plan.even.trees.empty());
  EXPECT_THAT(plan.packing.trees, testing::SizeIs(32));
  EXPECT_EQ(longest_way(plan.packing), 4);
  EXPECT_GE(plan.share(), 0.998);
}

TEST(AlikeTrees, SmallVectorsArePlayedByFewTreesLargeOnesByThoseThatFillTheLinks) {
  // The full links there take 414 trees; a rank then has some hundred messages to other nodes in a
  // round, which wait for each other.
  const Machine nodes = machine("cluster:2xdgx-h100", 16);
  SynthesisedPlan plan = synthesise(nodes.topology, CollectiveKind::all_reduce);
  ASSERT_THAT(plan.even.trees, testing::SizeIs(16));
  ASSERT_GT(plan.played().trees.size(), 100);
  const MessageTimes waiting = message_times(nodes.costs);
  const auto trees_of = [&](Bytes bytes, const MessageTimes& message) {
    plan.message = message;
    return std::ssize(playing(plan, bytes).packing->trees);
  };
  EXPECT_EQ(trees_of(Bytes{1 << 20}, waiting), 16);
  EXPECT_EQ(trees_of(Bytes{1 << 26}, waiting), 16);
  EXPECT_EQ(trees_of(Bytes{1 << 30}, {}), std::ssize(plan.played().trees));
  const auto share_said = [&](Bytes bytes) {
    const std::string json = to_json(plan.certificate, &plan, {.bytes = bytes});
    return nlohmann::json::parse(json)["played_share_of_bound"].get<double>();
  };
  plan.message = {};
  EXPECT_DOUBLE_EQ(share_said(Bytes{1 << 30}), plan.played_share());
  plan.message = waiting;
  EXPECT_DOUBLE_EQ(share_said(Bytes{1 << 20}), plan.share(plan.even));
  EXPECT_TRUE(verify_allreduce(to_schedule(plan, Bytes{1 << 20})).ok());
}

}  // namespace
}  // namespace collbench

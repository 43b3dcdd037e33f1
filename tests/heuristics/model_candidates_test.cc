// What the cost model offers on a machine: algorithms with the options that its network and the
// size suggest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heuristics/policies/policy.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Those whose names begin so, fastest first.
std::vector<Candidate> candidates_of(const Answer& answer, std::string_view begin) {
  std::vector<Candidate> found;
  for (const Candidate& each : answer.candidates) {
    if (each.algorithm.starts_with(begin)) found.push_back(each);
  }
  return found;
}

Answer model_of(const char* name, int ranks, Bytes bytes, int nodes = 1,
                CollectiveKind collective = CollectiveKind::all_reduce) {
  const Machine cluster = machine(name, ranks);
  Question question;
  question.collective = collective;
  question.bytes = bytes;
  question.workers = ranks;
  question.nodes = nodes;
  question.machine = &cluster;
  return ask(find_policy("model"), question);
}

// A flat ring leaves a node through one adapter of eight.
TEST(ModelCandidates, BetweenNodesRingsAndTreesThatUseEveryAdapterAreCandidates) {
  const Answer large = model_of("cluster:8xdgx-h100", 64, 1_GiB);
  EXPECT_EQ(large.algorithm, "ring:channels=8:node=8");
  // 370 GB/s of bus bandwidth is what NCCL's rings reach there: NVIDIA GTC24 S62129, slide 12.
  EXPECT_NEAR(2.0 * 63 / 64 * (1 << 30) / large.candidates[0].time->count(), 370e9, 37e9);

  const Answer small = model_of("cluster:8xdgx-h100", 64, 1_KiB);
  EXPECT_THAT(candidates_of(small, "double-tree:channels=8:node=8"),
              ElementsAre(Field(&Candidate::algorithm, EndsWith("segments=1"))))
      << "pieces of 64 bytes are not worth a message";
  EXPECT_THAT(candidates_of(small, "ring:channels"), IsEmpty()) << "nor are pieces of 2 bytes";
}

TEST(ModelCandidates, TheHalvesOfAnAllReduceUseEveryAdapter) {
  for (const CollectiveKind half : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    EXPECT_EQ(model_of("cluster:8xdgx-h100", 64, 1_GiB, 1, half).algorithm,
              "ring:channels=8:node=8");
    EXPECT_EQ(model_of("cluster:8xdgx-h100", 64, 1_MiB, 1, half).algorithm,
              "hierarchical:dims=8x8:inner=direct:outer=direct");
  }
}

// With the Simple protocol 8 pieces take 8.5 ms by the fluid engine, 32 take 7.2 and 256 take 11.8.
TEST(ModelCandidates, TreesAreCutIntoAsManyPiecesAsTheSizeIsWorth) {
  const Machine cluster = machine("cluster:4xdgx-h100");
  Question question;
  question.bytes = 1_GiB;
  question.workers = 32;
  question.machine = &cluster;
  const auto time_of = [&](const char* name) {
    question.available = {name};
    return *ask(find_policy("model"), question).candidates.at(0).time;
  };
  const Seconds few = time_of("double-tree:channels=8");
  const Seconds some = time_of("double-tree:channels=8:segments=32");
  EXPECT_LT(some, 0.9 * few);
  EXPECT_LT(some, time_of("double-tree:channels=8:segments=256"));

  const auto large = candidates_of(model_of("cluster:4xdgx-h100", 32, 1_GiB), "double-tree:ch");
  ASSERT_EQ(large.size(), 1U);
  EXPECT_LE(*large[0].time, some);
  const auto middle = candidates_of(model_of("cluster:4xdgx-h100", 32, 1_MiB), "double-tree:ch");
  EXPECT_THAT(middle.at(0).algorithm, Not(EndsWith("segments=64"))) << "unlike 1 GiB";
  EXPECT_THAT(large[0].algorithm, EndsWith("segments=64"));
}

TEST(ModelCandidates, InsideNodesThatAreAFullMeshEveryLinkIsUsed) {
  const Answer middle = model_of("cluster:2xmi300x", 16, 1_MiB);
  EXPECT_EQ(middle.algorithm, "hierarchical:dims=8x2:inner=direct:outer=direct");
  const Answer large = model_of("cluster:2xmi300x", 16, 1_GiB);
  EXPECT_EQ(large.algorithm, "ring:channels=8:node=8");
  EXPECT_GT(2.0 * 15 / 16 * (1 << 30) / large.candidates[0].time->count(), 0.85 * 8 * 50e9);
}

TEST(ModelCandidates, OneNodeAndANetworkWithoutNodesHaveNoCandidatesForNodes) {
  for (const char* name : {"dgx-h100", "star:8,100Gbps,5us"}) {
    const Answer answer = model_of(name, 8, 1_MiB);
    EXPECT_EQ(candidates_of(answer, "double-tree").size(), 1U) << name;
    EXPECT_THAT(candidates_of(answer, "hierarchical:"), IsEmpty()) << name;
    EXPECT_THAT(candidates_of(answer, "ring:"), IsEmpty()) << name;
  }
}

TEST(ModelCandidates, SwitchesAddOnlyWhatTheyHaveAnOperatorFor) {
  const Machine node = machine("dgx-h100", 8);
  Question question;
  question.bytes = 256_MiB;
  question.workers = 8;
  question.machine = &node;
  question.op = ReduceOp::avg;
  EXPECT_EQ(ask(find_policy("model"), question).algorithm, "nvls");
  question.op = ReduceOp::max;
  const Answer answer = ask(find_policy("model"), question);
  EXPECT_EQ(candidates_of(answer, "nvls").at(0).refused, "nvls has no max of f32");
}

// Four GPUs of one node and two on each of two nodes are not the same network.
TEST(ModelCandidates, RanksSitOnAsManyNodesAsTheQuestionHas) {
  const Answer one = model_of("cluster:2xdgx-h100", 4, 1_MiB, 1);
  const Answer two = model_of("cluster:2xdgx-h100", 4, 1_MiB, 2);
  EXPECT_GT(*two.candidates[0].time, 2 * *one.candidates[0].time);
  EXPECT_EQ(candidates_of(two, "hierarchical")[0].algorithm.substr(0, 21), "hierarchical:dims=2x2");
  EXPECT_THAT(candidates_of(one, "nvls").at(0).refused, IsEmpty());
  EXPECT_EQ(candidates_of(two, "nvls").at(0).refused, "nvls adds inside a node only");
  const Answer half = model_of("cluster:2xdgx-h100:4", 8, 1_MiB);
  EXPECT_THAT(candidates_of(half, "nvls").at(0).refused, HasSubstr("adds inside a node only"));
  const Answer few = model_of("cluster:2xgb200-nvl72:36", 8, 1_MiB, 2);
  EXPECT_EQ(candidates_of(few, "nvls").at(0).refused, "nvls adds inside a node only");
  // One GPU of each of eight nodes is the same, said either way.
  EXPECT_EQ(candidates_of(model_of("cluster:8xdgx-h100:1", 8, 1_GiB), "direct").at(0).time,
            candidates_of(model_of("cluster:8xdgx-h100", 8, 1_GiB, 8), "direct").at(0).time);
  // 16 ranks that fill two nodes are where they were.
  EXPECT_EQ(model_of("cluster:2xdgx-h100", 16, 1_MiB, 2).candidates[0].time,
            model_of("cluster:2xdgx-h100", 16, 1_MiB).candidates[0].time);
}

}  // namespace
}  // namespace collbench

// The policies: what each chooses, that choices keep to what is available and consistent, and that
// they say how far they rest on data.
#include "heuristics/policies/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "heuristics/exports/ompi_rules.h"
#include "heuristics/predict.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using namespace literals;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Question question_of(Bytes bytes, int workers) {
  Question question;
  question.bytes = bytes;
  question.workers = workers;
  return question;
}

std::string choice(const char* policy, const Question& question) {
  return ask(find_policy(policy), question).algorithm;
}

MeasuredTime row(const char* algorithm, Bytes bytes, double us, int ranks = 8) {
  MeasuredTime time;
  time.algorithm = algorithm;
  time.scale = {ranks, 1};
  time.bytes = bytes;
  time.time = time.low = time.high = Seconds{us * 1e-6};
  return time;
}

TEST(PolicyTest, TensorFlowTwoTakesItsRingWhateverTheQuestion) {
  for (const Bytes bytes : {1_KiB, 1_GiB}) {
    EXPECT_EQ(choice("tf2", question_of(bytes, 2)), "tf-ring");
    EXPECT_EQ(choice("tf2", question_of(bytes, 512)), "tf-ring");
  }
}

TEST(PolicyTest, MirroredStrategyLooksAtDevicesAndAtIntegersOnly) {
  Question question = question_of(1_MiB, 8);
  EXPECT_EQ(choice("tf2-mirrored", question), "tf-ring");
  question.devices = Devices::gpus;
  EXPECT_EQ(choice("tf2-mirrored", question), "nccl");
  question.devices = Devices::virtual_gpus;
  EXPECT_EQ(choice("tf2-mirrored", question), "tf-ring");
  question.devices = Devices::mixed;
  EXPECT_EQ(choice("tf2-mirrored", question), "reduce-broadcast");
  question.devices = Devices::gpus;
  question.type = DataType::i32;
  EXPECT_EQ(choice("tf2-mirrored", question), "reduce-broadcast");
}

TEST(PolicyTest, TensorFlowsStrategiesRefuseWhatTheyHaveNoCollectiveFor) {
  Question question = question_of(1_MiB, 8);
  question.type = DataType::bf16;
  EXPECT_EQ(choice("tf2", question), "tf-ring") << "on CPUs";
  question.devices = Devices::gpus;
  const auto refused = [&](const char* policy) {
    return testing::ThrowsMessage<InvalidArgument>(HasSubstr(policy));
  };
  EXPECT_THAT([&] { choice("tf2", question); }, refused("no bf16 on GPUs"));
  EXPECT_THAT([&] { choice("tf2-mirrored", question); }, refused("no bf16 on GPUs"));
  question.type = DataType::i32;
  EXPECT_THAT([&] { choice("tf2", question); }, refused("no i32 on GPUs"));
  question.devices = Devices::cpus;
  question.type = DataType::u8;
  EXPECT_THAT([&] { choice("tf2-mirrored", question); }, refused("no u8"));
  question.type = DataType::f32;
  question.op = ReduceOp::prod;
  EXPECT_THAT([&] { choice("tf2", question); }, refused("no prod"));
  question.devices = Devices::mixed;
  EXPECT_EQ(choice("tf2-mirrored", question), "reduce-broadcast");
}

TEST(PolicyTest, TheModelPricesWhatDirectPlaysAtEverySize) {
  const Machine star = machine("star:4,10GBps,1us", 4);
  const std::vector<Host> hosts = place("row-major", 4, star.topology);
  for (const auto& [bytes, algorithm] :
       {std::pair(504_B, "one-shot"), std::pair(508_B, "direct"), std::pair(1_MiB, "direct")}) {
    Question question = question_of(bytes, 4);
    question.machine = &star;
    question.available = {"direct"};
    const Answer answer = ask(find_policy("model"), question);
    EXPECT_EQ(answer.algorithm, "direct");
    ASSERT_EQ(answer.candidates.size(), 1U);
    VectorSpec work;
    work.count = bytes.count / 4;
    const Prediction priced = predict(make_schedule(algorithm, 4), star, hosts, work);
    EXPECT_EQ(answer.candidates[0].time, priced.time()) << bytes.count;
  }
}

TEST(PolicyTest, TensorFlowOneKnowsTheLinksOfADgx1) {
  const Machine dgx1 = machine("dgx-1-v100", 8);
  const Machine dgx2 = machine("dgx-a100", 8);
  Question question = question_of(1_MiB, 8);
  question.devices = Devices::gpus;
  question.machine = &dgx1;
  EXPECT_EQ(choice("tf1-dgx1", question), "hierarchical-copy");
  question.workers = 4;
  EXPECT_EQ(ask(find_policy("tf1-dgx1"), question).reason, "fewer than eight GPUs");
  question.workers = 8;
  question.machine = &dgx2;
  EXPECT_EQ(choice("tf1-dgx1", question), "nccl");
  question.machine = nullptr;
  EXPECT_THROW(ask(find_policy("tf1-dgx1"), question), InvalidArgument);
}

TEST(PolicyTest, OpenMpiFollowsTheSwitchPointsOfItsTable) {
  const auto rule = [](int ranks, std::int64_t bytes) {
    return static_cast<int>(ompi_fixed_rule(ranks, Bytes{bytes}));
  };
  EXPECT_EQ(rule(2, 7), 4);
  EXPECT_EQ(rule(2, 8), 3);
  EXPECT_EQ(rule(3, 65'535), 4);
  EXPECT_EQ(rule(3, 65'536), 5);
  EXPECT_EQ(rule(3, 262'144), 6);
  EXPECT_EQ(rule(4, 8'191), 3);
  EXPECT_EQ(rule(4, 8'192), 6);
  EXPECT_EQ(rule(16, 63), 5);
  EXPECT_EQ(rule(64, 262'143), 3);
  EXPECT_EQ(rule(128, 131'071), 2);
  EXPECT_EQ(rule(4096, 2'048), 5);
  EXPECT_EQ(rule(100'000, 32'768), 6);
}

TEST(PolicyTest, OpenMpiPlaysSomethingElseForFewElements) {
  EXPECT_EQ(ompi_played(OmpiAlgorithm::ring, 8, 7), OmpiAlgorithm::recursive_doubling);
  EXPECT_EQ(ompi_played(OmpiAlgorithm::ring, 8, 8), OmpiAlgorithm::ring);
  EXPECT_EQ(ompi_played(OmpiAlgorithm::rabenseifner, 12, 7), OmpiAlgorithm::linear);
  EXPECT_EQ(ompi_played(OmpiAlgorithm::rabenseifner, 12, 8), OmpiAlgorithm::rabenseifner);
}

TEST(PolicyTest, TheModelExpectsATimeOfEveryCandidateAndTakesTheLeast) {
  const Machine star = machine("star:8,100Gbps,5us");
  Question question = question_of(1_MiB, 8);
  question.machine = &star;
  const Answer answer = ask(find_policy("model"), question);
  ASSERT_GT(answer.candidates.size(), 10U);
  EXPECT_EQ(answer.algorithm, answer.candidates.front().algorithm);
  Seconds last{0};
  for (const Candidate& candidate : answer.candidates) {
    if (!candidate.refused.empty()) continue;
    ASSERT_TRUE(candidate.time.has_value()) << candidate.algorithm;
    EXPECT_GE(*candidate.time, last);
    EXPECT_THAT(candidate.terms, HasSubstr("latency"));
    last = *candidate.time;
  }
}

TEST(PolicyTest, ChoicesKeepToWhatIsAvailableUnderItsName) {
  const Machine star = machine("star:8,100Gbps,5us");
  Question question = question_of(64_MiB, 8);
  question.machine = &star;
  question.available = {"ring_ompi", "default-recursive_doubling"};
  EXPECT_EQ(choice("model", question), "ring_ompi");
  EXPECT_EQ(choice("tf2", question), "ring_ompi");
  question.bytes = 4_KiB;
  EXPECT_EQ(choice("ompi", question), "default-recursive_doubling");
  question.available = {"tree"};
  EXPECT_THROW(choice("tf2", question), InvalidArgument);
}

TEST(PolicyTest, MeasuredNamesOfLibrariesMayBeAnything) {
  std::vector<MeasuredTime> times{row("BINE-L_CONT-0-1", 1_KiB, 5), row("ring_over", 1_KiB, 9)};
  Question question = question_of(1_KiB, 8);
  question.measured = times;
  EXPECT_EQ(choice("oracle", question), "BINE-L_CONT-0-1");
  question.available = {"BINE-L_CONT-0-1", "ring_over"};
  EXPECT_EQ(choice("measured", question), "BINE-L_CONT-0-1");
  question.available = {"ring_over"};
  EXPECT_EQ(choice("measured", question), "ring_over");
}

TEST(PolicyTest, AlgorithmsThatWouldMakeReplicasDifferAreRefusedUnlessAllowed) {
  const Machine star = machine("star:8,100Gbps,5us");
  Question question = question_of(1_KiB, 8);
  question.machine = &star;
  question.available = {"swing:latency", "ring"};
  EXPECT_EQ(choice("model", question), "ring");
  question.replicas_may_differ = true;
  EXPECT_EQ(choice("model", question), "swing:latency");
}

TEST(PolicyTest, WhatHasTooManyMessagesToLookAtIsPredictedOnlyIfNamed) {
  const Machine star = machine("star:100,100Gbps,5us");
  Question question = question_of(1_MiB, 100);
  question.machine = &star;
  question.most_messages = 1e4;
  const auto found = [](const Answer& answer, const char* name) {
    const auto candidate =
        std::ranges::find(answer.candidates, name, [](const auto& c) { return c.algorithm; });
    return candidate == answer.candidates.end() ? Candidate{} : *candidate;
  };
  const Answer answer = ask(find_policy("model"), question);
  EXPECT_THAT(found(answer, "direct").refused, HasSubstr("about 1.98e+04 messages"));
  EXPECT_TRUE(found(answer, "ring").time.has_value()) << "its rounds are alike";
  question.available = {"direct"};
  EXPECT_TRUE(found(ask(find_policy("model"), question), "direct").time.has_value());
}

TEST(PolicyTest, MeasuredTimesDecideAndAreInterpolated) {
  const std::vector<MeasuredTime> times{row("ring", 1_KiB, 10), row("ring", 1_MiB, 100),
                                        row("tree", 1_KiB, 5), row("tree", 1_MiB, 400)};
  Question question = question_of(1_KiB, 8);
  question.measured = times;
  EXPECT_EQ(choice("measured", question), "tree");
  EXPECT_EQ(choice("oracle", question), "tree");
  EXPECT_EQ(choice("auto", question), "tree");
  question.bytes = 1_MiB;
  EXPECT_EQ(choice("measured", question), "ring");
  question.bytes = 32_KiB;  // halfway: chords 31.6 and 44.7 us, bytes alone 10 and 12.5 us
  const Answer between = ask(find_policy("measured"), question);
  EXPECT_EQ(between.algorithm, "ring");
  EXPECT_NEAR(between.candidates.front().time->count(), 17.8e-6, 0.1e-6);
  EXPECT_THAT(between.warnings, IsEmpty());
  EXPECT_THROW(ask(find_policy("oracle"), question), InvalidArgument);
}

TEST(PolicyTest, BeyondTheMeasurementsTheAnswerSaysHowFar) {
  const std::vector<MeasuredTime> times{row("ring", 1_KiB, 10), row("ring", 1_MiB, 100)};
  Question question = question_of(8_MiB, 16);
  question.measured = times;
  const Answer answer = ask(find_policy("measured"), question);
  EXPECT_THAT(answer.warnings, Contains(HasSubstr("8 MiB is 8 times beyond the sizes measured")));
  EXPECT_THAT(answer.warnings, Contains(HasSubstr("16 workers were not measured")));
  EXPECT_NEAR(answer.candidates.front().time->count(), 800e-6, 1e-9);
}

TEST(PolicyTest, WhatWasMeasuredAroundTheSizeIsLeftOnlyForAClearGainByWhatWasNot) {
  // 1 MiB is four doublings beyond the sizes of the tree, whose bytes would take 80 us there.
  const auto answer_with = [](double ring_us) {
    const std::vector<MeasuredTime> times{row("tree", 1_KiB, 4), row("tree", 64_KiB, 5),
                                          row("ring", 1_KiB, 30), row("ring", 1_MiB, ring_us)};
    Question question = question_of(1_MiB, 8);
    question.measured = times;
    return ask(find_policy("measured"), question);
  };
  const Answer kept = answer_with(86);  // 7 % for 8 %
  EXPECT_EQ(kept.algorithm, "ring");
  EXPECT_THAT(kept.reason, HasSubstr("tree would take 80 us, but that is 16 times beyond the sizes "
                                     "measured of it, 1 KiB to 64 KiB"));
  EXPECT_THAT(kept.warnings, IsEmpty());
  EXPECT_THAT(kept.candidates.front().terms, HasSubstr("extrapolated, 16 times beyond"));
  const Answer left = answer_with(88);  // 9 %
  EXPECT_EQ(left.algorithm, "tree");
  EXPECT_THAT(left.warnings, Contains(HasSubstr("1 MiB is 16 times beyond the sizes measured of "
                                                "tree, 1 KiB to 64 KiB")));
}

TEST(PolicyTest, WithinTheNoiseTheChoiceOfTheNeighboursIsKept) {
  const std::vector<MeasuredTime> times{row("ring", 1_KiB, 10),   row("ring", 2_KiB, 10.1),
                                        row("ring", 4_KiB, 10.2), row("tree", 1_KiB, 12),
                                        row("tree", 2_KiB, 10),   row("tree", 4_KiB, 12)};
  Question question = question_of(2_KiB, 8);
  question.measured = times;
  EXPECT_EQ(choice("measured", question), "ring");
  EXPECT_EQ(choice("oracle", question), "tree");
}

// A GPU that sends 120 messages to other nodes at once is busy with them.
TEST(PolicyTest, TheModelSendsToNoHundredPeersAtOnceOverANetwork) {
  for (const char* name : {"cluster:16xdgx-h100", "cluster:16xmi300x", "ethernet-25g:128"}) {
    const Machine cluster = machine(name, 128);
    Question question = question_of(1_KiB, 128);
    question.machine = &cluster;
    const std::string fastest = choice("model", question);
    EXPECT_TRUE(fastest.starts_with("recursive-doubling")) << name << ": " << fastest;
  }
}

TEST(PolicyTest, AutoAsksTheModelWhereNothingIsMeasured) {
  const Machine star = machine("star:16,100Gbps,5us");
  const std::vector<MeasuredTime> times{row("ring", 1_KiB, 10)};
  Question question = question_of(1_KiB, 16);
  question.machine = &star;
  question.measured = times;
  const Answer answer = ask(find_policy("auto"), question);
  EXPECT_THAT(answer.reason, HasSubstr("predicted"));
  EXPECT_THAT(answer.warnings, Contains(HasSubstr("16 workers on 1 node were not measured")));
}

TEST(PolicyTest, AutoOnThisHostRestsOnTimesThatAreBroughtAlong) {
  Question question = question_of(1_MiB, 8);
  question.backend = "shm";
  question.kind = ChoiceKind::shared_memory;
  question.cores = 2;
  const Answer measured = ask(find_policy("auto"), question);
  EXPECT_EQ(measured.algorithm, "direct");
  EXPECT_THAT(measured.reason, HasSubstr("measured"));
  question.cores = 61;
  const Answer rule = ask(find_policy("auto"), question);
  EXPECT_THAT(rule.warnings, Contains(HasSubstr("rule of thumb")));
}

TEST(PolicyTest, NcclsModelSaysNothingOfOtherCollectives) {
  const Machine node = machine("dgx-h100");
  Question question{.bytes = 64_MiB, .workers = 8, .machine = &node};
  EXPECT_TRUE(inside_library(question));
  question.collective = CollectiveKind::broadcast;
  EXPECT_FALSE(inside_library(question));
}

TEST(PolicyTest, ImpossibleQuestionsAreRefused) {
  EXPECT_THROW(find_policy("modell"), InvalidArgument);
  EXPECT_THROW(choice("tf2", question_of(1_KiB, 0)), InvalidArgument);
  Question question = question_of(1_KiB, 8);
  question.nodes = 3;
  EXPECT_THROW(choice("tf2", question), InvalidArgument);
  EXPECT_THROW(choice("model", question_of(1_KiB, 8)), InvalidArgument);
  EXPECT_THROW(choice("measured", question_of(1_KiB, 8)), InvalidArgument);
  EXPECT_EQ(choice("model", question_of(1_KiB, 1)), "none");
}

TEST(PolicyTest, TimesOfTheNearestNumberOfWorkersAreTaken) {
  const std::vector<MeasuredTime> times{row("ring", 1_KiB, 10, 4), row("tree", 1_KiB, 5, 4),
                                        row("ring", 1_KiB, 10, 64), row("tree", 1_KiB, 50, 64)};
  Question question = question_of(1_KiB, 15);  // 15 / 4 is less than 64 / 15
  question.measured = times;
  EXPECT_EQ(choice("measured", question), "tree");
  question.workers = 17;
  EXPECT_EQ(choice("measured", question), "ring");
}

TEST(PolicyTest, TimesOfTheAskedTypeCountWhereThereAreAny) {
  std::vector<MeasuredTime> times{row("ring", 1_KiB, 10), row("tree", 1_KiB, 5)};
  Question question = question_of(1_KiB, 8);
  question.type = DataType::f16;
  question.measured = times;
  const Answer other = ask(find_policy("measured"), question);
  EXPECT_EQ(other.algorithm, "tree");
  EXPECT_THAT(other.warnings, Contains("measured with another type or operator than f16 sum"));
  times.push_back(row("ring", 1_KiB, 20));
  times.back().type = DataType::f16;
  question.measured = times;
  const Answer own = ask(find_policy("measured"), question);
  EXPECT_EQ(own.algorithm, "ring");
  EXPECT_THAT(own.warnings, IsEmpty());
}

TEST(PolicyTest, CandidatesAreFastestFirstAndRefusedOnesLast) {
  const std::vector<MeasuredTime> times{row("tree", 1_KiB, 1), row("ring", 1_KiB, 3),
                                        row("direct", 1_KiB, 2)};
  Question question = question_of(1_KiB, 8);
  question.measured = times;
  question.available = {"ring", "direct"};
  const Answer answer = ask(find_policy("measured"), question);
  ASSERT_EQ(answer.candidates.size(), 3U);
  EXPECT_EQ(answer.candidates[0].algorithm, "direct");
  EXPECT_EQ(answer.candidates[1].algorithm, "ring");
  EXPECT_EQ(answer.candidates[2].refused, "not available");
  EXPECT_THAT(answer.reason, HasSubstr("direct with 2 us is 50 % ahead of ring with 3 us"));
}

TEST(PolicyTest, RowsOfOtherNumbersOfNodesDoNotCountButUnknownOnesDo) {
  std::vector<MeasuredTime> times{row("ring", 1_KiB, 10), row("tree", 1_KiB, 5)};
  Question question = question_of(1_KiB, 8);
  question.nodes = 2;
  question.measured = times;
  EXPECT_THROW(choice("measured", question), InvalidArgument) << "both are of one node";
  times[0].scale.nodes = 0;
  question.measured = times;
  EXPECT_EQ(choice("measured", question), "ring") << "which may have been two";
  times[1].scale.nodes = 2;
  question.measured = times;
  EXPECT_EQ(choice("measured", question), "tree");
}

TEST(PolicyTest, ALibrarysChoiceIsLeftForTwoPercentOfEveryDoublingOutside) {
  // 1 MiB is measured; 2 and 4 MiB are one and two doublings away, at the same ratio.
  const auto chosen = [](Bytes bytes, double gain) {
    const std::vector<MeasuredTime> times{row("default", 1_MiB, 100), row("default", 512_KiB, 50),
                                          row("ring", 1_MiB, 100 * (1 - gain)),
                                          row("ring", 512_KiB, 50 * (1 - gain))};
    Question question = question_of(bytes, 8);
    question.measured = times;
    return choice("measured", question);
  };
  EXPECT_EQ(chosen(2_MiB, 0.025), "ring");
  EXPECT_EQ(chosen(2_MiB, 0.015), "default");
  EXPECT_EQ(chosen(4_MiB, 0.045), "ring");
  EXPECT_EQ(chosen(4_MiB, 0.035), "default");
  EXPECT_EQ(chosen(1_MiB, 0.015), "ring") << "measured there";
}

}  // namespace
}  // namespace collbench

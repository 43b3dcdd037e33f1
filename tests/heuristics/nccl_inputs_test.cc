// What NCCL would find of a machine: graphs, channels and their rates.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "heuristics/nccl/library_times.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using namespace literals;
using testing::AllOf;
using testing::HasSubstr;

NcclInputs inputs_on(const std::string& name, int ranks, int nodes) {
  return nccl_inputs(machine(name, ranks), ranks, nodes);
}

TEST(NcclInputsTest, MachinesInClustersHaveSwitchesThatAddAndTreesOverThem) {
  const NcclInputs many = inputs_on("cluster:12xhgx-b200", 96, 12);
  EXPECT_FALSE(many.guessed);
  EXPECT_EQ(many.nvls.channels, 8);
  EXPECT_EQ(many.compute_capability, 100);
  EXPECT_DOUBLE_EQ(many.hardware.nvls, 485.7);
  const LibraryPlay play = library_choice(inputs_on("cluster:2xdgx-h100", 16, 2), {.bytes = 1_GiB});
  EXPECT_EQ(to_string(play), "nvls-tree, Simple");
  EXPECT_EQ(inputs_on("cluster:2xdgx-a100", 16, 2).nvls.channels, 0);
}

// stas00/ml-engineering 744d01e, network/README.md: what NCCL (2.27.7 where it is said) took for
// 8 GiB on 4 to 8 H200 and B200. Its cost then: 5/6 of the slower speed of all channels.
TEST(NcclInputsTest, GraphsOfANodeGiveWhatNcclTookOfRingAndSwitchByItsFormulaOfThen) {
  const auto takes_switch = [](const char* name, int ranks) {
    const NcclInputs inputs = inputs_on(name, ranks, 1);
    const NcclGraph& nvls = inputs.nvls;
    const double added = nvls.channels * std::min(nvls.intra, nvls.inter) * 5 / 6;
    return added > inputs.ring.channels * inputs.ring.intra * ranks / (2.0 * (ranks - 1));
  };
  for (int ranks = 4; ranks <= 8; ++ranks) {
    EXPECT_EQ(takes_switch("hgx-h200", ranks), ranks >= 5) << ranks;
    EXPECT_EQ(takes_switch("aws-p6-b200", ranks), ranks >= 6) << ranks;
  }
}

TEST(NcclInputsTest, FewGpusOfANodeTakeARingAndMoreOfThemTheSwitch) {
  const auto large = [](const char* name, int ranks) {
    return library_choice(inputs_on(name, ranks, 1), {.bytes = 8_GiB}).tuner.algorithm;
  };
  EXPECT_EQ(large("hgx-h200", 4), NcclAlgorithm::ring);
  EXPECT_EQ(large("hgx-h200", 5), NcclAlgorithm::ring) << "since NCCL 2.28";
  EXPECT_EQ(large("hgx-h200", 8), NcclAlgorithm::nvls);
  EXPECT_EQ(large("aws-p6-b200", 5), NcclAlgorithm::ring);
  EXPECT_EQ(large("aws-p6-b200", 8), NcclAlgorithm::nvls);
  const auto at = [](Bytes bytes) {
    return to_string(library_choice(inputs_on("hgx-h200", 8, 1), {.bytes = bytes}));
  };
  EXPECT_EQ(at(1_MiB), "ring, LL");
  EXPECT_EQ(at(2_MiB), "nvls, Simple");
}

TEST(NcclInputsTest, ChannelsAreAsFastAsTheAdaptersThatTheyShare) {
  EXPECT_NEAR(inputs_on("cluster:2xhgx-b200,800Gbps,2us", 16, 2).ring.inter, 96, 1e-9);
  const NcclInputs many_small = inputs_on("cluster:2xaws-p5", 16, 2);
  EXPECT_EQ(many_small.ring.channels, 8) << "of 32 adapters";
  EXPECT_NEAR(many_small.ring.inter, 48, 1e-9);
  const NcclInputs shared = inputs_on("cluster:2xdgx-a100,adapters=4", 16, 2);
  EXPECT_EQ(shared.ring.channels, 4);
  EXPECT_NEAR(shared.hardware.of_node, 4 * 25 * 0.96, 1e-9) << "8 GPUs share 4 adapters";
  EXPECT_NEAR(shared.tree.intra, 48, 1e-9) << "two nodes use both directions for half a tree each";
  // One GPU on each node, which has room for eight.
  const NcclInputs single = inputs_on("cluster:2xhgx-h200,adapters=1", 2, 2);
  EXPECT_NEAR(single.ring.inter, 48, 1e-9);
  EXPECT_EQ(single.ring.channels, 1);
}

TEST(NcclInputsTest, PluginsStateTheLatencyThatTheTunerCounts) {
  EXPECT_NEAR(inputs_on("cluster:2xaws-p5", 16, 2).tree.latency_inter, 75, 1e-9);
  EXPECT_EQ(inputs_on("cluster:2xaws-p3dn", 16, 2).ring.latency_inter, 0) << "NCCL 2.4 asks not";
  EXPECT_NEAR(inputs_on("cluster:2xaws-p6-b200", 16, 2).nvls.latency_inter, 35, 1e-9);
  EXPECT_EQ(inputs_on("aws-p5", 8, 1).ring.latency_inter, 0) << "no way out of the node";
  EXPECT_EQ(inputs_on("cluster:2xdgx-h100", 16, 2).ring.latency_inter, 0);
  // Twice two ways of 75 us more for Simple than for LL128.
  const auto play = [](Bytes bytes) {
    return to_string(library_choice(inputs_on("cluster:2xaws-p5", 16, 2), {.bytes = bytes}));
  };
  EXPECT_EQ(play(16_MiB), "double-tree, LL128");
  EXPECT_EQ(play(64_MiB), "nvls-tree, Simple");
}

TEST(NcclInputsTest, RingsRunOverTheWiresThatExist) {
  const NcclInputs mesh = inputs_on("mi300x", 8, 1);
  EXPECT_NEAR(mesh.hardware.of_gpu, 7 * 64 * 0.7, 1e-9) << "7 xGMI links a GPU";
  EXPECT_NEAR(mesh.ring.channels * mesh.ring.intra, 320, 1e-9);
  EXPECT_FALSE(mesh.ll128);
  const NcclInputs cube = inputs_on("dgx-1-v100", 8, 1);
  EXPECT_EQ(cube.ring.channels, 6);
  EXPECT_NEAR(cube.ring.intra, 20, 1e-9);
  EXPECT_EQ(inputs_on("cluster:2xmi300x", 16, 2).ring.channels, 8) << "has adapters";
}

TEST(NcclInputsTest, HostsThatNvlinkJoinsAreOneNode) {
  const NcclInputs trays = inputs_on("gb200-nvl72", 32, 8);
  EXPECT_EQ(trays.nodes, 1);
  EXPECT_GT(trays.nvls.channels, 0);
  const NcclInputs racks = inputs_on("cluster:2xgb200-nvl72", 144, 36);
  EXPECT_EQ(racks.nodes, 2);
  EXPECT_THAT(refusal([] { inputs_on("cluster:2xgb200-nvl72", 99, 33); }),
              HasSubstr("99 ranks cannot be spread evenly over 2 domains of 72"));
}

TEST(NcclInputsTest, AnyMachineHasGraphsHoweverItsRanksAreSpread) {
  for (const auto& [name, ranks, nodes] :
       {std::tuple{"cluster:1xdgx-h100", 8, 2}, std::tuple{"dgx-a100", 8, 4},
        std::tuple{"star:8,10Gbps,50us", 8, 8}, std::tuple{"torus:4x4,50GBps,1us", 16, 1},
        std::tuple{"cluster:4xdgx-h100:1,10Gbps,9us", 4, 4},
        std::tuple{"torus:4x4,50GBps,1us", 8, 1}, std::tuple{"cluster:8xdgx-1-v100", 12, 2},
        std::tuple{"superpod-h100", 256, 32}}) {
    const NcclInputs inputs = inputs_on(name, ranks, nodes);
    EXPECT_GT(inputs.ring.channels, 0) << name;
    EXPECT_GT(inputs.ring.intra, 0) << name;
    for (const LibraryPlay& play : library_plays(inputs, {.bytes = 1_MiB})) {
      EXPECT_GT(play.time.count(), 0) << name << to_string(play);
      EXPECT_LT(play.time.count(), 1) << name << to_string(play);
    }
  }
}

TEST(NcclInputsTest, RanksThatNodesCannotSeatAlikeAreRefused) {
  EXPECT_THAT(refusal([] { inputs_on("cluster:2xdgx-h100", 9, 1); }),
              AllOf(HasSubstr("9 ranks need 2 nodes"), HasSubstr("take a multiple of 2")));
  EXPECT_THAT(refusal([] { inputs_on("cluster:4xdgx-h100", 25, 1); }), HasSubstr("multiple of 4"));
  EXPECT_EQ(inputs_on("cluster:2xdgx-h100", 10, 2).nodes, 2);
  EXPECT_EQ(inputs_on("cluster:2xgb200-nvl72", 72, 18).nodes, 1) << "NVLink joins its hosts";
}

TEST(NcclInputsTest, HostsOfANetworkAreNodesOfAGpuEach) {
  for (const char* name : {"star:4,100Gbps,5us", "ethernet-10g:4", "torus:2x2,10GBps,5us",
                           "example-fat-tree", "roce-200g:4"}) {
    EXPECT_EQ(inputs_on(name, 4, 1).nodes, 4) << name;
    EXPECT_EQ(inputs_on(name, 4, 2).nodes, 4) << name;
  }
  for (const char* name : {"dgx-h100", "dgx-a100", "mi300x"}) {
    EXPECT_EQ(inputs_on(name, 4, 1).nodes, 1) << name;
  }
  EXPECT_THAT(refusal([] { inputs_on("tpu-v5e:4x4", 16, 1); }), HasSubstr("not run on TPUs"));
}

TEST(NcclInputsTest, NothingIsFasterThanTheNetwork) {
  for (const auto& [name, latency, rate] : {std::tuple{"star:4,100Gbps,500us", 500e-6, 12.5e9},
                                            {"star:4,100Gbps,20us", 20e-6, 12.5e9},
                                            {"star:4,10Gbps,5us", 5e-6, 1.25e9},
                                            {"ethernet-10g:4", 20e-6, 1e9},
                                            {"roce-200g:4", 2.5e-6, 24e9}}) {
    for (Bytes bytes = 64_B; bytes <= 4_GiB; bytes = bytes * 4) {
      // Two hops, and each rank sends 3/2 of the vector.
      const double least = 2 * latency + 1.5 * static_cast<double>(bytes.count) / rate;
      for (const LibraryPlay& play : library_plays(inputs_on(name, 4, 1), {.bytes = bytes})) {
        EXPECT_GE(play.time.count(), least) << name << to_string(play) << to_string(bytes);
      }
    }
  }
  const auto small = [](const char* name) {
    return library_choice(inputs_on(name, 16, 2), {.bytes = 1_KiB}).time.count();
  };
  EXPECT_GT(small("cluster:2xdgx-h100,400Gbps,500us"), 1e-3);
}

TEST(NcclInputsTest, SharpAddsBetweenNodes) {
  Machine cluster = machine("cluster:4xdgx-h100", 32);
  const auto best = [&] { return library_choice(nccl_inputs(cluster, 32, 4), {.bytes = 1_GiB}); };
  const LibraryPlay without = best();
  cluster.costs.gpus->sharp = true;
  EXPECT_EQ(to_string(best()), "nvls, Simple");
  EXPECT_LT(best().time, without.time);
}

}  // namespace
}  // namespace collbench

// What NCCL and RCCL are predicted to play and how long it takes: formulas by hand, and what a
// machine's numbers change.
#include "heuristics/nccl/library_times.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"
#include "core/suggest.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using namespace literals;
using testing::HasSubstr;

NcclInputs inputs_of(const std::string& name, int ranks, int nodes) {
  return nccl_inputs(machine(name, ranks), ranks, nodes);
}

double us_of(const NcclInputs& inputs, const LibraryQuestion& question) {
  return library_choice(inputs, question).time.count() * 1e6;
}

double overlap(double a, double b, double q) {
  return std::pow(std::pow(a, q) + std::pow(b, q), 1 / q);
}

LibraryQuestion forced(Bytes bytes, NcclAlgorithm algorithm, NcclProtocol protocol) {
  return {.bytes = bytes, .algorithm = algorithm, .protocol = protocol};
}

TEST(LibraryTimesTest, RingsOfOneNodeStartStepAndFlowAsTheirChannelsCarry) {
  const NcclInputs inputs = inputs_of("dgx-a100", 8, 1);
  // Ampere: start 7.6 * 1.13 us, 14 steps of 0.7 * 1.23 us. A channel is added for each 32 KiB and
  // carries 3.04 * 0.51 GB/s; the links would carry 0.35 * 300 * 0.77.
  const auto by_hand = [](Bytes bytes, int channels) {
    const double flow = static_cast<double>(bytes.count) * 14.0 / 8 /
                        std::min(channels * 3.04e3 * 0.51, 0.35 * 231e3);
    return 7.6 * 1.13 + overlap(14 * 0.7 * 1.23, flow, 1.36);
  };
  const auto ring = [&](Bytes bytes) {
    return us_of(inputs, forced(bytes, NcclAlgorithm::ring, NcclProtocol::ll));
  };
  EXPECT_NEAR(ring(32_KiB), by_hand(32_KiB, 1), 1e-6);
  EXPECT_NEAR(ring(64_KiB), by_hand(64_KiB, 2), 1e-6);
  EXPECT_NEAR(ring(512_KiB), by_hand(512_KiB, 16), 1e-6);
}

TEST(LibraryTimesTest, RingsOfLl128OverlapBetterInsideANodeOfHopper) {
  // Start 14.7 or 9.2 * 0.88 us, 6 steps of 1.08 or 4.06 * 0.94 us; 450 * 0.82 GB/s.
  const auto ring = [](const char* name, int ranks, int nodes, NcclProtocol protocol) {
    return us_of(inputs_of(name, ranks, nodes), forced(1_MiB, NcclAlgorithm::ring, protocol));
  };
  const double flow = 1048576 * 1.5 / 369e3;
  EXPECT_NEAR(ring("dgx-h100", 4, 1, NcclProtocol::ll128),
              14.7 * 0.88 + overlap(6 * 1.08 * 0.94, flow, 0.56 * 1.13), 1e-3);
  EXPECT_NEAR(ring("dgx-h100", 4, 1, NcclProtocol::simple),
              9.2 * 0.88 + overlap(6 * 4.06 * 0.94, flow, 0.73), 1e-3);
}

TEST(LibraryTimesTest, NothingIsSaidOfChannelsThatAreNotKnown) {
  // MI300X: start 7.6 * 1.13 us, 14 steps of 0.7 * 1.09 us times RCCL's 0.8 for NCCL's 0.6; seven
  // links of 64 * 0.7 GB/s.
  const double flow = 65536 * 14.0 / 8 / (0.35 * 7 * 64e3 * 0.7);
  EXPECT_NEAR(
      us_of(inputs_of("mi300x", 8, 1), forced(64_KiB, NcclAlgorithm::ring, NcclProtocol::ll)),
      7.6 * 1.13 + overlap(14 * 0.7 * 1.09 * 0.8 / 0.6, flow, 1.36), 1e-6);
}

std::string play_of(const NcclInputs& inputs, Bytes bytes) {
  return to_string(library_choice(inputs, {.bytes = bytes}));
}

TEST(LibraryTimesTest, RcclPlaysBetweenAllPairsWhatFillsItsKernelsLoops) {
  const NcclInputs inputs = inputs_of("mi300x", 8, 1);
  EXPECT_EQ(play_of(inputs, 512_B), "ring, LL");
  EXPECT_EQ(play_of(inputs, 1_KiB), "all-pairs, LL");
  EXPECT_EQ(play_of(inputs, 1028_B), "ring, LL") << "no whole loop of 256 elements";
  EXPECT_EQ(play_of(inputs, 65_KiB), "ring, LL") << "no whole loop of 512 elements";
  EXPECT_EQ(play_of(inputs, 256_KiB), "all-pairs, LL");
  EXPECT_EQ(play_of(inputs, 512_KiB), "all-pairs, Simple");
  EXPECT_EQ(play_of(inputs, 16_MiB), "all-pairs, Simple");
  EXPECT_EQ(play_of(inputs, 32_MiB), "ring, Simple");
  EXPECT_EQ(play_of(inputs_of("mi300x", 4, 1), 1_MiB).find("all-pairs"), std::string::npos);
  EXPECT_EQ(play_of(inputs_of("cluster:2xmi300x", 16, 2), 1_MiB).find("all-pairs"),
            std::string::npos);
  const LibraryPlay forced =
      library_choice(inputs, {.bytes = 1_MiB, .algorithm = NcclAlgorithm::ring});
  EXPECT_EQ(forced.tuner.algorithm, NcclAlgorithm::ring);
}

// tools/msccl-algorithms of ROCm/rccl: the files of Simple in place end with 11 MiB and begin again
// behind 14 MiB.
TEST(LibraryTimesTest, InPlaceRcclsKernelsHaveAGap) {
  const NcclInputs inputs = inputs_of("mi300x", 8, 1);
  const auto play = [&](std::int64_t mebibytes, bool in_place) {
    return to_string(
        library_choice(inputs, {.bytes = Bytes{mebibytes << 20}, .in_place = in_place}));
  };
  for (const int mebibytes : {12, 13, 14}) {
    EXPECT_EQ(play(mebibytes, false), "all-pairs, Simple");
    EXPECT_NE(play(mebibytes, true), "all-pairs, Simple") << mebibytes;
  }
  for (const int mebibytes : {1, 11, 15, 16}) EXPECT_EQ(play(mebibytes, true), "all-pairs, Simple");
}

TEST(LibraryTimesTest, LoopsOfRcclsKernelsAreOfElementsAndAveragesHaveNone) {
  const NcclInputs inputs = inputs_of("mi300x", 8, 1);
  const auto play = [&](Bytes bytes, TypedOp what) {
    return to_string(library_choice(inputs, {.bytes = bytes, .what = what}));
  };
  EXPECT_EQ(play(1_KiB, {DataType::f64, ReduceOp::sum}), "ring, LL") << "128 elements";
  EXPECT_EQ(play(2_KiB, {DataType::f64, ReduceOp::sum}), "all-pairs, LL");
  EXPECT_EQ(play(512_B, {DataType::f16, ReduceOp::max}), "all-pairs, LL");
  EXPECT_EQ(play(256_B, {DataType::u8, ReduceOp::sum}), "all-pairs, LL");
  EXPECT_EQ(play(256_KiB, {DataType::f32, ReduceOp::avg}).find("all-pairs"), std::string::npos);
}

TEST(LibraryTimesTest, AllPairsTakeTwoPhasesOverTheLinkBetweenTwo) {
  const NcclInputs inputs = inputs_of("mi300x", 8, 1);
  // Each phase carries an eighth over each link of 64 * 0.7 GB/s. Start 1.13 of the mean's.
  EXPECT_NEAR(us_of(inputs, {.bytes = 64_KiB}), 7.6 * 1.13 + 2 * 2.42 + 2 * 8192 / (0.35 * 44.8e3),
              1e-3);
  EXPECT_NEAR(us_of(inputs, {.bytes = 16_MiB}),
              9.2 * 1.13 + 2 * 6.7 + 2 * 2097152 / (0.74 * 44.8e3), 1e-2)
      << "no cost of a tuner is blended in";
}

// What the plugin's own file (aws/aws-ofi-nccl 2daf7d30, src/tuner/nccl_ofi_regions.cpp) says.
TEST(LibraryTimesTest, TheTunerOfAwssPluginChoosesByItsRegions) {
  const auto expect_play = [](const char* machine, int nodes, Bytes bytes, const char* play) {
    const std::string name = "cluster:" + std::to_string(nodes) + "x" + machine;
    EXPECT_EQ(play_of(inputs_of(name, 8 * nodes, nodes), bytes), play)
        << name << " " << to_string(bytes);
  };
  expect_play("aws-p5", 4, 1_KiB, "double-tree, LL128");
  expect_play("aws-p5", 20, 400_MiB, "nvls-tree, Simple");
  expect_play("aws-p5", 24, 1_GiB, "ring, LL128");
  expect_play("aws-p5", 128, 16_GiB, "nvls-tree, Simple");
  expect_play("aws-p5en", 4, 128_KiB, "double-tree, LL");
  expect_play("aws-p5en", 4, 64_MiB, "ring, LL128");
  expect_play("aws-p5en", 16, 256_MiB, "nvls-tree, Simple");
  expect_play("aws-p6-b200", 3, 256_KiB, "double-tree, LL");
  expect_play("aws-p6-b200", 12, 64_MiB, "nvls-tree, Simple");
  expect_play("aws-p6-b200", 16, 64_MiB, "nvls-tree, Simple");
  // Between 127 ranks, 129 MB, and 1,024, 218 MB: on a straight line of both logarithms.
  const double limit =
      129499136 * std::pow(218103808.0 / 129499136, std::log(512 / 127.0) / std::log(1024 / 127.0));
  const auto at = static_cast<std::int64_t>(limit);
  expect_play("aws-p5en", 64, Bytes{at - 1000}, "double-tree, LL128");
  expect_play("aws-p5en", 64, Bytes{at + 1000}, "nvls-tree, Simple");
}

TEST(LibraryTimesTest, AwssPluginLeavesTwoNodesAndOtherNodesThanOfEightGpusToNccl) {
  for (const char* machine : {"aws-p5", "aws-p5en", "aws-p6-b200"}) {
    for (const auto& [ranks, nodes] : {std::pair{16, 2}, {12, 3}}) {
      const std::string name = "cluster:" + std::to_string(nodes) + "x" + machine;
      for (const NcclTime& time : nccl_times(inputs_of(name, ranks, nodes), 20_MiB)) {
        EXPECT_GT(time.time, Seconds{0}) << name;
      }
    }
  }
}

TEST(LibraryTimesTest, TreesBetweenNodesHopAndShareTheirAdapters) {
  // InfiniBand: 4.93 us a hop for LL; 8 adapters of 25 GB/s, of which 0.96 is reached, LL 0.3.
  const auto by_hand = [](int nodes, double hop, double share) {
    const double latency = 2 * (7 * 0.7 * 1.23 + std::log2(nodes) * hop);
    const double net = 192e3 * 0.3 * std::pow(nodes / 2.0, -0.03) / share;
    return 7.6 * 1.13 + overlap(latency, 65536 / std::min(net, 231e3 * 0.35 / 2), 0.42);
  };
  const LibraryQuestion question = forced(64_KiB, NcclAlgorithm::tree, NcclProtocol::ll);
  EXPECT_NEAR(us_of(inputs_of("cluster:2xdgx-a100", 16, 2), question), by_hand(2, 4.93, 1), 1e-6);
  EXPECT_NEAR(us_of(inputs_of("cluster:8xdgx-a100", 64, 8), question),
              by_hand(8, 4.93 * (1 + 0.04 * 2), 2), 1e-6);
}

TEST(LibraryTimesTest, NoStepTakesTheLatencyThatAPluginStates) {
  const NcclInputs stated = inputs_of("cluster:2xaws-p4d", 16, 2);
  NcclInputs plain = stated;
  plain.ring.latency_inter = plain.tree.latency_inter = 0;
  for (const NcclProtocol protocol :
       {NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple}) {
    for (const Bytes bytes : {64_KiB, 8_MiB, 1_GiB}) {
      const LibraryQuestion question = forced(bytes, NcclAlgorithm::tree, protocol);
      EXPECT_NEAR(us_of(stated, question), us_of(plain, question), 1e-6) << to_string(bytes);
      const auto counted = [&](const NcclInputs& inputs) {
        return library_choice(inputs, question).tuner.latency_us;
      };
      EXPECT_NEAR(counted(stated) - counted(plain), protocol == NcclProtocol::simple ? 300 : 150,
                  1e-6);
    }
  }
}

double filled(double flow, double fill) { return flow + flow * fill / (flow + fill); }

TEST(LibraryTimesTest, SwitchesThatAddFillAndFlowAtTheRateOfTheMachine) {
  // Hopper: 9.2 * 0.88 us until the kernel runs, 21.5 * 0.88 us of the switches, 80 us to fill.
  const auto by_hand = [](double flow) { return (9.2 + 21.5) * 0.88 + filled(flow, 80); };
  for (const Bytes bytes : {1_MiB, 64_MiB, 1_GiB}) {
    EXPECT_NEAR(us_of(inputs_of("dgx-h100", 8, 1),
                      forced(bytes, NcclAlgorithm::nvls, NcclProtocol::simple)),
                by_hand(static_cast<double>(bytes.count) / 274.3e3), 1e-3);
  }
  // The bus bandwidth is that of 8 GPUs: three quarters of the vector pass where 7 eighths did.
  EXPECT_NEAR(
      us_of(inputs_of("dgx-h100", 4, 1), forced(64_MiB, NcclAlgorithm::nvls, NcclProtocol::simple)),
      by_hand((64 << 20) / (274.3e3 * (7.0 / 8) / (3.0 / 4))), 1e-3);
}

TEST(LibraryTimesTest, SwitchesThatAddServeTheNetworkToo) {
  // InfiniBand: 23.6 us a hop of Simple, 8 * 50 * 0.94 GB/s, half of it where a node has children
  // and a parent; the pipeline has a level for each doubling of the nodes.
  const auto by_hand = [](int nodes, double hop, double net) {
    const double bytes = 64 << 20;
    const double levels = std::log2(nodes);
    const double flow = overlap(bytes / (274.3e3 * 0.925), bytes / net, 7.3);
    return (9.2 + 21.5) * 0.88 + 2 * levels * hop + filled(flow, 80 * (1 + levels));
  };
  const LibraryQuestion question = forced(64_MiB, NcclAlgorithm::nvls_tree, NcclProtocol::simple);
  EXPECT_NEAR(us_of(inputs_of("cluster:2xdgx-h100", 16, 2), question), by_hand(2, 23.6, 376e3),
              1e-2);
  EXPECT_NEAR(us_of(inputs_of("cluster:4xdgx-h100", 32, 4), question),
              by_hand(4, 23.6 * 1.04, 188e3 * std::pow(2, -0.03)), 1e-2);
}

TEST(LibraryTimesTest, FromOneMebibyteOnNcclsOwnCostCountsMoreAndMore) {
  const NcclInputs inputs = inputs_of("dgx-h100", 8, 1);
  const auto blended = [&](Bytes bytes, double share) {
    const LibraryPlay play =
        library_choice(inputs, forced(bytes, NcclAlgorithm::ring, NcclProtocol::simple));
    // 14 steps of 4.06 * 0.94 us; 450 * 0.82 GB/s.
    const double flow = static_cast<double>(bytes.count) * 14 / 8 / 369e3;
    const double alone = 9.2 * 0.88 + overlap(14 * 4.06 * 0.94, flow, 0.73);
    const double cost = play.tuner.time.count() * 1e6;
    EXPECT_NEAR(play.time.count() * 1e6, std::pow(alone, 1 - share) * std::pow(cost, share), 1e-2);
  };
  blended(1_MiB, 0);
  blended(8_MiB, 0.25);
  blended(64_MiB, 0.5);
  blended(1_GiB, 0.5);
}

TEST(LibraryTimesTest, WhatIsPlayedIsWhatTheTunerTakesWhateverTheClockSays) {
  int differ = 0;
  for (const auto& [name, ranks, nodes] :
       {std::tuple{"dgx-a100", 8, 1}, std::tuple{"cluster:2xdgx-h100", 16, 2},
        std::tuple{"cluster:8xaws-p4d", 64, 8}, std::tuple{"mi300x", 8, 1}}) {
    const NcclInputs inputs = inputs_of(name, ranks, nodes);
    for (Bytes bytes = 1_KiB; bytes <= 1_GiB; bytes = bytes * 2) {
      const LibraryPlay choice = library_choice(inputs, {.bytes = bytes});
      bool fastest = true;
      for (const LibraryPlay& play : library_plays(inputs, {.bytes = bytes})) {
        EXPECT_LE(choice.tuner.time, play.tuner.time) << name << to_string(bytes);
        fastest = fastest && choice.time <= play.time;
      }
      differ += fastest ? 0 : 1;
    }
  }
  EXPECT_GT(differ, 0) << "else the clock would choose";
}

TEST(LibraryTimesTest, AProcessStartsItsGpusOneAfterTheOther) {
  const NcclInputs inputs = inputs_of("dgx-h100", 8, 1);
  const double single = us_of(inputs, {.bytes = 1_KiB});
  const double eight = us_of(inputs, {.bytes = 1_KiB, .gpus_per_process = 8});
  EXPECT_NEAR(eight, std::pow(std::pow(single, 4) + std::pow(5.8 * 8, 4), 0.25), 1e-6);
  EXPECT_GT(eight, 46.4);
  EXPECT_NEAR(
      us_of(inputs, {.bytes = 1_GiB, .gpus_per_process = 8}) / us_of(inputs, {.bytes = 1_GiB}), 1,
      1e-6);
  EXPECT_THAT(refusal([&] { library_plays(inputs, {.bytes = 1_KiB, .gpus_per_process = 0}); }),
              HasSubstr("at least 1 GPU, not 0"));
}

TEST(LibraryTimesTest, IntervalsAreWiderWhereNothingLikeItWasFitted) {
  const auto width = [](const std::string& name, int ranks, int nodes, Bytes bytes) {
    const LibraryPlay play = library_choice(inputs_of(name, ranks, nodes), {.bytes = bytes});
    EXPECT_NEAR(std::log(play.high / play.time), std::log(play.time / play.low), 1e-9);
    return std::log(play.high / play.time);
  };
  EXPECT_NEAR(width("cluster:2xdgx-h100", 16, 2, 32_KiB), 0.23, 1e-9);
  EXPECT_NEAR(width("cluster:2xdgx-h100", 16, 2, 1_MiB), 0.26, 1e-9);
  EXPECT_NEAR(width("cluster:2xdgx-h100", 16, 2, 1_GiB), 0.11, 1e-9);
  EXPECT_NEAR(width("hgx-b200", 8, 1, 32_KiB), 0.23, 1e-9);
  EXPECT_NEAR(width("star:8,20GBps,1us", 8, 1, 32_KiB), 0.55, 1e-9) << "GPUs without a table";
  EXPECT_NEAR(width("aws-p5en", 8, 1, 32_KiB), 0.23, 1e-9);
  EXPECT_NEAR(width("cluster:2xaws-p5en", 16, 2, 32_KiB), 0.55, 1e-9) << "a network without one";
  EXPECT_NEAR(width("cluster:2xalps-gh200", 8, 2, 32_KiB), 0.55, 1e-9) << "one of a single system";
}

TEST(LibraryTimesTest, TheNetworkIsARowOfNumbersNotABranch) {
  const auto on = [](const std::string& network, Bytes bytes) {
    const NcclInputs inputs =
        inputs_of("cluster:2xdgx-h100,400Gbps,3us,efficiency=0.9,network=" + network, 16, 2);
    return us_of(inputs, {.bytes = bytes});
  };
  EXPECT_NEAR(on("efa-v1", 1_KiB) - on("infiniband", 1_KiB), 2 * (64.8 - 4.93), 7);
  EXPECT_NEAR(on("efa-v2", 1_KiB) - on("infiniband", 1_KiB), 2 * (28.4 - 4.93), 7);
  EXPECT_NEAR(on("efa-v1", 8_GiB) / on("infiniband", 8_GiB), 1, 0.1);
  // Adapters that were given with a latency are of a kind by it.
  EXPECT_EQ(inputs_of("cluster:2xdgx-h100,400Gbps,3us", 16, 2).hardware.network.name, "offloaded");
  EXPECT_EQ(inputs_of("cluster:2xdgx-h100,400Gbps,30us", 16, 2).hardware.network.name, "software");
  // What is that of one system is its machine's.
  EXPECT_LT(inputs_of("cluster:2xalps-gh200", 8, 2).hardware.network.ll_share,
            0.3 * find_row("network", "slingshot", adapter_networks()).ll_share);
  // Slingshot's small messages are slow: LL128 is off, and LL is left early.
  const NcclInputs slingshot = inputs_of("cluster:4xdgx-h100,200Gbps,3us,network=slingshot", 32, 4);
  for (const LibraryPlay& play : library_plays(slingshot, {.bytes = 1_MiB})) {
    EXPECT_NE(play.tuner.protocol, NcclProtocol::ll128);
  }
}

TEST(LibraryTimesTest, WhatIsNotThereIsRefusedWithWhatIs) {
  const NcclInputs inputs = inputs_of("dgx-a100", 8, 1);
  const std::string why =
      refusal([&] { library_choice(inputs, {.bytes = 1_MiB, .algorithm = NcclAlgorithm::nvls}); });
  EXPECT_THAT(why, HasSubstr("NCCL has no 'nvls' there; it has double-tree, LL;"));
}

}  // namespace
}  // namespace collbench

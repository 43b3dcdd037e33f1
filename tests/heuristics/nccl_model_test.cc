// NCCL's cost model: its constants against the published table, its formulas against times worked
// out by hand, and the dumps that its inputs come from.
#include "heuristics/nccl/nccl_model.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"
#include "heuristics/nccl/nccl_constants.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream words(line);
  for (std::string field; std::getline(words, field, ',');) fields.push_back(field);
  return fields;
}

const NcclTime& find(const std::vector<NcclTime>& times, NcclAlgorithm a, NcclProtocol p) {
  for (const NcclTime& time : times) {
    if (time.algorithm == a && time.protocol == p) return time;
  }
  throw InvalidArgument("no such time");
}

NcclInputs one_node() {
  NcclInputs inputs;
  inputs.ranks = 8;
  inputs.compute_capability = 80;
  inputs.cpu = NcclCpu::amd;
  inputs.ring = {.channels = 12, .intra = 20, .inter = 20};
  inputs.tree = inputs.ring;
  inputs.tree.pattern = 1;
  return inputs;
}

TEST(NcclModelTest, ConstantsAreThoseOfThePublishedTable) {
  std::ifstream file(COLLBENCH_SOURCE_DIR "/results/published/nccl-tuner.csv");
  const NcclConstants& c = nccl_constants;
  const std::map<std::string, const NcclByAlgorithm*> latencies{{"base", &c.base_latency},
                                                                {"nvlink", &c.nvlink_latency},
                                                                {"pci", &c.pci_latency},
                                                                {"net", &c.net_latency}};
  const std::map<std::string, const NcclByChip*> rates{{"ll_most", &c.ll_most},
                                                       {"tree_per_channel", &c.tree_per_channel}};
  const std::vector<std::string> chips{"volta", "ampere", "hopper", "blackwell"};
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields = split(line);
    if (line.starts_with("#") || fields.at(0) == "kind") continue;
    ASSERT_EQ(fields.size(), 5U) << line;
    for (std::size_t i = 0; i < 3; ++i) {
      const double published = std::stod(fields[2 + i]);
      double ours = -1;
      if (latencies.contains(fields[0])) {
        std::size_t a = 0;
        while (to_string(static_cast<NcclAlgorithm>(a)) != fields[1]) ASSERT_LT(++a, 7U) << line;
        ours = (*latencies.at(fields[0]))[a][i];
      } else {
        const auto chip = std::find(chips.begin(), chips.end(), fields[1]) - chips.begin();
        ours = (*rates.at(fields[0])).at(static_cast<std::size_t>(chip))[i];
      }
      EXPECT_EQ(ours, published) << line;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 60);
}

TEST(NcclModelTest, RingOnOneNodeAddsBaseAndStepsAndDividesByTheBus) {
  const auto times = nccl_times(one_node(), 1_MiB);
  // LL: 6.6 + 14 * 0.6 us; bus min(87.7, 240 / 2) GB/s, times 8 / 14.
  const NcclTime& ll = find(times, NcclAlgorithm::ring, NcclProtocol::ll);
  EXPECT_NEAR(ll.latency_us, 15.0, 1e-9);
  EXPECT_NEAR(ll.bandwidth, 87.7 * 8 / 14, 1e-9);
  EXPECT_NEAR(ll.time.count() * 1e6, 15.0 + 1048576 / (1000 * 87.7 * 8 / 14), 1e-9);
  // Simple: 8.4 + 14 * 3.4 us; 240 GB/s.
  const NcclTime& simple = find(times, NcclAlgorithm::ring, NcclProtocol::simple);
  EXPECT_NEAR(simple.latency_us, 56.0, 1e-9);
  EXPECT_NEAR(simple.bandwidth, 240.0 * 8 / 14, 1e-9);
}

TEST(NcclModelTest, TreesAreCorrectedBySize) {
  // 1 MiB is 2^14 times 64 bytes: Simple reaches half. Bus min(0.92 * 240, 12 * 24), half of it.
  const auto times = nccl_times(one_node(), 1_MiB);
  const NcclTime& simple = find(times, NcclAlgorithm::tree, NcclProtocol::simple);
  EXPECT_NEAR(simple.bandwidth, 0.92 * 240 * 0.5 * 0.5, 1e-9);
  EXPECT_NEAR(simple.latency_us, 8.4 + 2 * 7 * 4.0, 1e-9);
}

TEST(NcclModelTest, BetweenNodesRingsPayTheNetworkAndThePlateau) {
  NcclInputs inputs = one_node();
  inputs.ranks = 16;
  inputs.nodes = 2;
  // 28 steps inside of max(3.4, 3 * 2) us on AMD and 2 between of 14 us, times 1.4.
  const auto large = nccl_times(inputs, 64_MiB);
  EXPECT_NEAR(find(large, NcclAlgorithm::ring, NcclProtocol::simple).latency_us,
              1.4 * (8.4 + 28 * 6.0 + 2 * 14.0), 1e-9);
  const auto small = nccl_times(inputs, 1_KiB);
  EXPECT_NEAR(find(small, NcclAlgorithm::ring, NcclProtocol::simple).latency_us,
              8.4 + 28 * 6.0 + 2 * 14.0, 1e-9);
}

TEST(NcclModelTest, NvlsAddsInSwitchesOfHopper) {
  const Machine hopper = machine("dgx-h100", 8);
  const auto times = nccl_times(nccl_inputs(hopper, 8, 1), 1_GiB);
  const NcclTime& nvls = find(times, NcclAlgorithm::nvls, NcclProtocol::simple);
  EXPECT_NEAR(nvls.latency_us, 25, 1e-9);
  EXPECT_NEAR(nvls.bandwidth, 8 * 40 * 0.85 * 7 / 8 * 2 * 8 / 14, 1e-9);
  for (const NcclTime& time : times) EXPECT_NE(time.algorithm, NcclAlgorithm::nvls_tree);
}

/// "nvls" and what else NCCL has but rings and trees.
std::set<std::string> switched(const NcclInputs& inputs, TypedOp what) {
  std::set<std::string> names;
  for (const NcclTime& time : nccl_times(inputs, 64_MiB, what)) {
    if (time.algorithm > NcclAlgorithm::ring) names.emplace(policy_name(time.algorithm));
  }
  return names;
}

TEST(NcclModelTest, SwitchesAddWhatTheyHaveAnOperatorFor) {
  using enum DataType;
  using enum ReduceOp;
  const NcclInputs one = nccl_inputs(machine("dgx-h100", 8), 8, 1);
  for (const DataType type : {f16, bf16, f32, f64, i32, i64}) {
    EXPECT_THAT(switched(one, {type, sum}), ElementsAre("nvls")) << to_string(type);
    const bool has_extremes = type != f32 && type != f64;
    EXPECT_EQ(switched(one, {type, max}).size(), has_extremes ? 1 : 0) << to_string(type);
    EXPECT_EQ(switched(one, {type, min}).size(), has_extremes ? 1 : 0) << to_string(type);
    EXPECT_THAT(switched(one, {type, prod}), IsEmpty()) << to_string(type);
    EXPECT_THAT(switched(one, {type, avg}), IsEmpty()) << to_string(type);
  }
  EXPECT_THAT(switched(one, {u8, sum}), IsEmpty());
  Machine sharp = machine("cluster:4xdgx-h100", 32);
  sharp.costs.gpus->sharp = true;
  const NcclInputs four = nccl_inputs(sharp, 32, 4);
  EXPECT_THAT(switched(four, {f32, sum}),
              ElementsAre("collnet-chain", "collnet-direct", "nvls", "nvls-tree"));
  EXPECT_THAT(switched(four, {f32, avg}), ElementsAre("collnet-chain", "collnet-direct"));
  EXPECT_THAT(switched(four, {f32, max}), ElementsAre("collnet-chain", "collnet-direct"));
  EXPECT_THAT(switched(four, {i32, prod}), IsEmpty());
}

TEST(NcclModelTest, NvlsOfOneNodeIsAsSlowAsTheSlowerOfItsSpeeds) {
  // The search gives each of 8 channels 1/9 of B200's 722 GB/s, so 80, and raises it to its most.
  const NcclInputs eight = nccl_inputs(machine("dgx-b200", 8), 8, 1);
  EXPECT_EQ(eight.nvls.intra, 80);
  EXPECT_EQ(eight.nvls.inter, 90);
  const auto bandwidth = [](const NcclInputs& inputs) {
    return find(nccl_times(inputs, 1_GiB), NcclAlgorithm::nvls, NcclProtocol::simple).bandwidth;
  };
  EXPECT_NEAR(bandwidth(eight), 8 * 90.0 * 8 / 14, 1e-9) << "0.74 * 7/8 * 2 * 80 is more than 90";
  EXPECT_NEAR(bandwidth(nccl_inputs(machine("dgx-h100", 4), 4, 1)), 4 * 60.0 * 4 / 6, 1e-9);
}

TEST(NcclModelTest, SmallVectorsUseFewerChannels) {
  const auto few = nccl_times(one_node(), 1_KiB);
  const auto many = nccl_times(one_node(), 1_GiB);
  EXPECT_EQ(find(few, NcclAlgorithm::ring, NcclProtocol::simple).channels, 1);
  EXPECT_EQ(find(many, NcclAlgorithm::ring, NcclProtocol::simple).channels, 24);
}

// src/graph/connect.cc: fewer than 16 channels that carry more than 45 GB/s each become twice as
// many from Hopper on, on several nodes.
TEST(NcclModelTest, FewFastChannelsOfHopperAreFourForEachGraph) {
  const auto channels = [](int nodes, int capability, NcclGraph graph) {
    NcclInputs inputs;
    inputs.ranks = 8 * nodes;
    inputs.nodes = nodes;
    inputs.compute_capability = capability;
    inputs.ring = inputs.tree = graph;
    inputs.tree.pattern = 1;
    return find(nccl_times(inputs, 1_GiB), NcclAlgorithm::ring, NcclProtocol::simple).channels;
  };
  EXPECT_EQ(channels(2, 90, {.channels = 6, .intra = 48, .inter = 48}), 24);
  EXPECT_EQ(channels(2, 90, {.channels = 8, .intra = 48, .inter = 48}), 16);
  EXPECT_EQ(channels(2, 90, {.channels = 6, .intra = 45, .inter = 45}), 12);
  EXPECT_EQ(channels(2, 80, {.channels = 6, .intra = 48, .inter = 48}), 12);
  EXPECT_EQ(channels(1, 90, {.channels = 6, .intra = 48, .inter = 48}), 12);
}

TEST(NcclModelTest, MachinesWithoutKnownGraphsAreGuessedAndSaySo) {
  const Machine unknown = machine("star:8,400Gbps,1us");
  const NcclInputs inputs = nccl_inputs(unknown, 8, 1);
  EXPECT_TRUE(inputs.guessed);
  EXPECT_THAT(inputs.origin, HasSubstr("guessed"));
  EXPECT_FALSE(nccl_times(inputs, 1_MiB).empty());
}

const char* const dump = R"(<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="8" speedintra="24" speedinter="24"
         latencyinter="0" typeintra="NVL" typeinter="PXB" samechannels="1">
    <channel><net dev="0"/><gpu dev="0"/><gpu dev="1"/><net dev="0"/></channel>
  </graph>
  <graph id="1" pattern="3" nchannels="8" speedintra="48" speedinter="24" typeintra="NVL"
         typeinter="PXB"/>
</graphs>)";

TEST(NcclModelTest, ReadsTheGraphsThatNcclDumps) {
  const NcclInputs inputs = import_nccl_graphs(dump, "graph.xml");
  EXPECT_EQ(inputs.ring.channels, 8);
  EXPECT_EQ(inputs.ring.type_inter, NcclPath::pxb);
  EXPECT_EQ(inputs.tree.intra, 48);
  EXPECT_EQ(inputs.tree.pattern, 3);
  EXPECT_EQ(inputs.nvls.channels, 0);
  EXPECT_THAT(inputs.origin, HasSubstr("graph.xml"));
}

TEST(NcclModelTest, RingAndTreeOfADumpHaveTheFewerChannels) {
  const NcclInputs inputs = import_nccl_graphs(
      "<graphs><graph id='0' nchannels='16' speedintra='45'/>"
      "<graph id='1' nchannels='8' speedintra='45'/></graphs>",
      "unequal.xml");
  EXPECT_EQ(inputs.ring.channels, 8);
  EXPECT_EQ(inputs.tree.channels, 8);
}

TEST(NcclModelTest, RefusesDumpsWithTheLine) {
  const auto message = [](const std::string& text) {
    return refusal([&] { import_nccl_graphs(text, "g.xml"); });
  };
  EXPECT_THAT(message("<system/>"), HasSubstr("g.xml:1: <system>: is not a dump"));
  EXPECT_THAT(message("<graphs/>"), HasSubstr("no ring"));
  EXPECT_THAT(message("<graphs><graph id='0'/></graphs>"), HasSubstr("nchannels"));
  EXPECT_THAT(message("<graphs>\n<graph id='0' nchannels='2' speedintra='x'/></graphs>"),
              HasSubstr("g.xml:2:"));
  EXPECT_THAT(message("<graphs><graph id='0' nchannels='2' speedintra='9' typeintra='QPI'/>"
                      "</graphs>"),
              HasSubstr("known are LOC"));
  EXPECT_THAT(message("<graphs><graph id='0' nchannels='999' speedintra='9'/></graphs>"),
              HasSubstr("g.xml:1:"));
}

TEST(NcclModelTest, KernelsAreFoundByTheNamesThatPoliciesGiveThem) {
  for (int i = 0; i < 6; ++i) {
    const auto kernel = static_cast<NcclAlgorithm>(i);
    EXPECT_EQ(nccl_algorithm(policy_name(kernel)), kernel) << to_string(kernel);
  }
  for (int i = 0; i < 3; ++i) {
    const auto protocol = static_cast<NcclProtocol>(i);
    EXPECT_EQ(nccl_protocol(policy_name(protocol)), protocol) << to_string(protocol);
  }
  EXPECT_EQ(nccl_algorithm("pat"), std::nullopt) << "our own of that name is another";
  EXPECT_EQ(nccl_protocol("ll"), std::nullopt);
}

/// Inputs of machines from one node of Volta to eight of Hopper.
std::vector<NcclInputs> many_inputs() {
  return {one_node(), nccl_inputs(machine("dgx-1-v100", 8), 8, 1),
          nccl_inputs(machine("dgx-h100", 8), 8, 1),
          nccl_inputs(machine("cluster:2xdgx-a100", 16), 16, 2),
          nccl_inputs(machine("cluster:8xdgx-h100", 64), 64, 8)};
}

TEST(NcclModelTest, OnlyTreesMayGetFasterWithMoreBytes) {
  for (const NcclInputs& inputs : many_inputs()) {
    std::map<std::pair<NcclAlgorithm, NcclProtocol>, NcclTime> before;
    for (Bytes bytes = 1_KiB; bytes <= 4_GiB; bytes = bytes * 2) {
      for (const NcclTime& time : nccl_times(inputs, bytes)) {
        const std::pair kernel{time.algorithm, time.protocol};
        const auto last = before.find(kernel);
        if (last != before.end()) {
          EXPECT_TRUE(time.algorithm == NcclAlgorithm::tree || time.time > last->second.time)
              << inputs.origin << to_string(time.algorithm) << to_string(time.protocol);
          EXPECT_GE(time.channels, last->second.channels) << inputs.origin << to_string(bytes);
          EXPECT_GE(time.threads, last->second.threads) << inputs.origin << to_string(bytes);
        }
        before.insert_or_assign(kernel, time);
      }
    }
  }
}

TEST(NcclModelTest, ProtocolsBesideSimpleAreForRingsAndTreesThatCanUseThem) {
  for (const NcclInputs& inputs : many_inputs()) {
    for (const NcclTime& time : nccl_times(inputs, 1_MiB)) {
      EXPECT_NE(time.algorithm, NcclAlgorithm::pat);
      const bool plain =
          time.algorithm == NcclAlgorithm::ring || time.algorithm == NcclAlgorithm::tree;
      EXPECT_TRUE(plain || time.protocol == NcclProtocol::simple) << to_string(time.algorithm);
      EXPECT_GE(time.threads, 96);
      EXPECT_LE(time.threads, 640);
      EXPECT_GE(time.channels, 1);
    }
  }
  NcclInputs far = one_node();
  far.ring.type_intra = far.tree.type_intra = NcclPath::phb;
  for (const NcclTime& time : nccl_times(far, 1_MiB)) {
    EXPECT_NE(time.protocol, NcclProtocol::ll128) << "not over the bridge of a processor";
  }
}

TEST(NcclModelTest, CollNetNeedsSwitchesThatAddBetweenNodes) {
  NcclInputs inputs = one_node();
  inputs.ranks = 32;
  inputs.nodes = 4;
  inputs.collnet_chain = inputs.collnet_direct = inputs.ring;
  const auto has = [&](NcclAlgorithm algorithm) {
    const auto times = nccl_times(inputs, 1_MiB);
    return std::any_of(times.begin(), times.end(),
                       [&](const NcclTime& time) { return time.algorithm == algorithm; });
  };
  EXPECT_FALSE(has(NcclAlgorithm::collnet_chain)) << "not in use";
  inputs.collnet = true;
  EXPECT_TRUE(has(NcclAlgorithm::collnet_chain));
  EXPECT_FALSE(has(NcclAlgorithm::collnet_direct)) << "no NVSwitch";
  inputs.nvswitch = true;
  EXPECT_TRUE(has(NcclAlgorithm::collnet_direct));
  inputs.nodes = 1;
  EXPECT_FALSE(has(NcclAlgorithm::collnet_chain)) << "one node";
  inputs.nodes = 2;
  EXPECT_FALSE(has(NcclAlgorithm::collnet_direct)) << "more than eight GPUs a node";
}

TEST(NcclModelTest, LatencyOfRingsGrowsByAStepForEveryWayToARank) {
  NcclInputs inputs = one_node();
  const auto latency = [&](int ranks, int nodes) {
    inputs.ranks = ranks;
    inputs.nodes = nodes;
    return find(nccl_times(inputs, 1_KiB), NcclAlgorithm::ring, NcclProtocol::ll).latency_us;
  };
  EXPECT_NEAR(latency(8, 1) - latency(4, 1), 8 * 0.6, 1e-9) << "NVLink's step of LL";
  // Of 2 (N p - 1) steps, 2 (N - 1) are between nodes; AMD's processors make the others 2 us.
  EXPECT_NEAR(latency(32, 4) - latency(16, 2), 28 * 2.0 + 4 * 2.7, 1e-9);
  // With one rank a node the tree's latency counts between nodes.
  EXPECT_NEAR(latency(4, 4) - latency(2, 2), 4 * 5.0, 1e-9);
}

TEST(NcclModelTest, KnownGraphsFillTheAdaptersOfTheirNodesAndNoMore) {
  struct Node {
    const char* name;
    double adapters;  // GB/s, of all eight
  };
  for (const Node& node : {Node{"dgx-a100", 200}, Node{"dgx-h100", 400}, Node{"hgx-h200", 400}}) {
    const Machine cluster = machine(std::string("cluster:4x") + node.name, 32);
    const NcclInputs inputs = nccl_inputs(cluster, 32, 4);
    EXPECT_FALSE(inputs.guessed) << node.name;
    for (const NcclGraph& graph : {inputs.ring, inputs.tree, inputs.nvls}) {
      if (graph.channels == 0) continue;
      EXPECT_LE(graph.channels * graph.inter, node.adapters) << node.name;
      EXPECT_GE(graph.channels * graph.inter, 0.9 * node.adapters) << node.name;
    }
  }
}

TEST(NcclModelTest, SpeedsInDumpsAreRatesOfRealChannels) {
  for (const char* speed : {"-1", "200000", "inf", "nan"}) {
    const std::string text =
        std::string("<graphs><graph id='0' nchannels='2' speedintra='") + speed + "'/></graphs>";
    EXPECT_THROW(import_nccl_graphs(text, "g.xml"), InvalidArgument) << speed;
  }
}

}  // namespace
}  // namespace collbench

#include "topologies/specification.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

namespace collbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string why_not(const std::string& spec, int workers = 0) {
  return refusal([&] { machine(spec, workers); });
}

TEST(SpecificationTest, CompositionsHaveTheShapeTheySay) {
  EXPECT_EQ(machine("star:8,100Gbps,5us").topology.hosts(), 8);
  EXPECT_EQ(machine("full:5,64GBps,1us").topology.links().size(), 20U);
  EXPECT_THAT(machine("torus:4x4x4,50GBps,1us").topology.layout().wraps,
              ElementsAre(true, true, true));
  EXPECT_THAT(machine("mesh:4x4,50GBps,1us").topology.layout().wraps, ElementsAre(false, false));
  EXPECT_THAT(machine("torus:8x16:wrap=0x1,50GBps,1us").topology.layout().wraps,
              ElementsAre(false, true));
  EXPECT_EQ(machine("fat-tree:4x4:1x4:1x2,100Gbps,1us").topology.hosts(), 16);
  EXPECT_EQ(machine("dragonfly:3x4x5x2:2x1x1,200Gbps,1us").topology.hosts(), 120);
}

TEST(SpecificationTest, RatesLatenciesAndEfficiencyReachTheLinks) {
  const Topology t = machine("star:4,100Gbps,5us,efficiency=0.8").topology;
  EXPECT_DOUBLE_EQ(t.capacity(0), 10e9);
  EXPECT_DOUBLE_EQ(summarize(t, route(t, 0, 1)).latency.count(), 5e-6);
  EXPECT_EQ(t.name(), "star:4,100Gbps,5us,efficiency=0.8");
}

TEST(SpecificationTest, AFileOfAnotherToolIsTakenByItsPath) {
  const std::string path = testing::TempDir() + "/collbench-network.yml";
  std::ofstream(path) << "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50.0 ]\n"
                         "latency: [ 500.0 ]\n";
  EXPECT_EQ(machine(path).topology.hosts(), 4);
  EXPECT_THROW(machine(path, 5), InvalidArgument);
  std::filesystem::remove(path);
}

TEST(SpecificationTest, AClusterJoinsItsNodesByTheirOwnAdapters) {
  const Machine joined = machine("cluster:8xdgx-h100");
  EXPECT_THAT(joined.topology.layout().dims, ElementsAre(8, 8));
  EXPECT_DOUBLE_EQ(joined.topology.capacity(route(joined.topology, 0, 63).front()), 47e9);
  EXPECT_EQ(joined.costs.protocols.size(), 3U);
}

TEST(SpecificationTest, InstancesAreFoundByWhatTheirCloudCallsThem) {
  for (const char* instance : {"p3dn.24xlarge",
                               "p4d.24xlarge",
                               "p4de.24xlarge",
                               "p5.48xlarge",
                               "hgx-h100",
                               "p5e.48xlarge",
                               "p5en.48xlarge",
                               "p6-b200.48xlarge",
                               "u-p6e-gb200x72",
                               "a3-highgpu-8g",
                               "a3-megagpu-8g",
                               "a3-ultragpu-8g",
                               "a4-highgpu-8g",
                               "a4x-highgpu-4g",
                               "Standard_ND96asr_v4",
                               "Standard_ND96isr_H100_v5",
                               "standard_nd96isr_h200_v5",
                               "Standard_ND128isr_NDR_GB200_v6",
                               "Standard_ND96isr_MI300X_v5",
                               "BM.GPU.A100-v2.8",
                               "BM.GPU.H100.8",
                               "bm.gpu.h200.8",
                               "BM.GPU.B200.8",
                               "BM.GPU.MI300X.8"}) {
    const Machine joined = machine(std::string("cluster:2x") + instance);
    EXPECT_TRUE(joined.costs.gpus.has_value()) << instance;
    EXPECT_GE(joined.topology.hosts(), 16) << instance;
  }
  EXPECT_EQ(machine("P5.48XLARGE").summary, machine("aws-p5").summary);
  EXPECT_THAT(why_not("p5.47xlarge"), HasSubstr("unknown name 'p5.47xlarge'"));
}

TEST(SpecificationTest, AClusterMayBeGivenAdapters) {
  const Topology each = machine("cluster:4xmi300x,400Gbps,5us").topology;
  EXPECT_DOUBLE_EQ(each.capacity(route(each, 0, 8).front()), 50e9);
  const Topology two = machine("cluster:2xtpu-v5e:4x4,25GBps,10us,adapters=2").topology;
  EXPECT_EQ(route(two, 0, 16).at(1), route(two, 7, 16).at(1));
  EXPECT_NE(route(two, 0, 16).at(1), route(two, 8, 16).at(1));
  const Topology rails = machine("cluster:3xdgx-h100,rails").topology;
  EXPECT_EQ(route(rails, 0, 9).size(), 4U);
}

TEST(SpecificationTest, WhatHasNoSizeSeatsTheWorkers) {
  EXPECT_EQ(machine("star,100Gbps,5us", 12).topology.hosts(), 12);
  EXPECT_EQ(machine("ethernet-100g", 12).topology.hosts(), 12);
  EXPECT_EQ(machine("cluster:dgx-a100", 20).topology.hosts(), 24);
  EXPECT_EQ(machine("dgx-a100", 3).topology.hosts(), 8);
}

TEST(SpecificationTest, TooSmallAMachineNamesALargerOne) {
  EXPECT_THAT(why_not("dgx-h100", 20),
              HasSubstr("8 hosts and cannot seat 20 workers; join several: cluster:3xdgx-h100"));
  EXPECT_THAT(why_not("star:4,1Gbps,1us", 5), HasSubstr("give it a larger size"));
  EXPECT_THAT(why_not("star,1Gbps,1us"), HasSubstr("needs a number of hosts, as in star:8"));
  EXPECT_THAT(why_not("ethernet-10g"), HasSubstr("must be given, as in ethernet-10g:8"));
}

TEST(SpecificationTest, MisspeltNamesAreAnsweredWithTheNearest) {
  EXPECT_THAT(why_not("dgx-h10"), HasSubstr("unknown name 'dgx-h10'"));
  EXPECT_THAT(why_not("dgx-h10"), HasSubstr("Did you mean 'dgx-h100'?"));
  EXPECT_THAT(why_not("torsu:4,1Gbps,1us"), HasSubstr("Did you mean 'torus'?"));
  EXPECT_THAT(why_not("cluster:4xdgx_h100"), HasSubstr("Did you mean 'dgx-h100'?"));
  EXPECT_THAT(why_not("star:4,1Gbps,1us,eficiency=1"), HasSubstr("Did you mean 'efficiency'?"));
}

TEST(SpecificationTest, WhatIsMissingOrTooMuchIsNamed) {
  EXPECT_THAT(why_not("star:8"), HasSubstr("needs bandwidth and latency of a link"));
  EXPECT_THAT(why_not("star:8,5us"), AllOf(HasSubstr("topology 'star:8,5us'"),
                                           HasSubstr("'5us' has the unknown unit 'us'")));
  EXPECT_THAT(why_not("star:8,0Gbps,5us"), HasSubstr("bandwidth must be above 0"));
  EXPECT_THAT(why_not("star:8:9,1Gbps,5us"), HasSubstr("unknown part ':9'"));
  EXPECT_THAT(why_not("star:0,1Gbps,5us"), HasSubstr("numbers of at least 1"));
  EXPECT_THAT(why_not("torus:4x2:wrap=1x1,1Gbps,1us"),
              HasSubstr("axis 1 is 2 long and cannot wrap"));
  EXPECT_THAT(why_not("torus:4x4:wrap=1,1Gbps,1us"), HasSubstr("2 axes need as many wraps"));
  EXPECT_THAT(why_not("torus:4x4:x=1,1Gbps,1us"), HasSubstr("':x=1' should be wrap= with 0 or 1"));
  EXPECT_THAT(why_not("torus:4x4:wrap=2x1,1Gbps,1us"), HasSubstr("a wrap is 0 or 1"));
  EXPECT_THAT(why_not("star:8,1Gbps,1us,2us"),
              HasSubstr("'2us' comes after bandwidth and latency, and is not an option"));
  EXPECT_THAT(why_not("dgx-h100,1Gbps,1us"), HasSubstr("has its own links"));
  EXPECT_EQ(machine("dgx-h100:4").topology.hosts(), 4);
  EXPECT_THAT(why_not("dgx-h100:16"), HasSubstr("it has 8 hosts"));
  EXPECT_THAT(why_not("example-dragonfly:4"), HasSubstr("comes in one size only"));
  EXPECT_THAT(why_not("cluster:4xstar:8,1Gbps"), HasSubstr("bandwidth and latency"));
  EXPECT_THAT(why_not("cluster:"), HasSubstr("needs nodes, as in cluster:8xdgx-h100"));
  EXPECT_THAT(why_not(""), HasSubstr("unknown name ''"));
  for (const char* missing : {"nowhere.xml", "nowhere.csv,latency=2us", "/nowhere/x.json"}) {
    EXPECT_THAT(refusal<Unavailable>([&] { machine(missing); }), HasSubstr("cannot read"))
        << missing;
  }
  EXPECT_THAT(refusal<Unavailable>([] { machine("nowhere.toml"); }),
              HasSubstr("cannot read 'nowhere.toml': No such file"));
}

TEST(SpecificationTest, OptionsThatWouldDoNothingAreRefused) {
  EXPECT_THAT(why_not("cluster:2xdgx-h100,efficiency=0.1"),
              HasSubstr("efficiency= is of adapters whose bandwidth"));
  EXPECT_NO_THROW(machine("cluster:2xdgx-h100,400Gbps,3us,efficiency=0.1"));
  EXPECT_THAT(why_not("star:8,1Gbps,5us,adapters=4"),
              HasSubstr("adapters= and rails are for clusters"));
  EXPECT_THAT(why_not("torus:4x4,1Gbps,5us,rails"),
              HasSubstr("adapters= and rails are for clusters"));
  EXPECT_THAT(why_not("star:8,1Gbps,5us,efficiency=0.5,efficiency=0.9"),
              HasSubstr("efficiency is given twice"));
  EXPECT_THAT(why_not("torus:4x4:ties=up:ties=alternate,1Gbps,5us"),
              HasSubstr("':ties=alternate' is said before as ':ties=up'"));
}

TEST(SpecificationTest, AFileIsReadFromItsPathAndItsNodesFromBesideIt) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "collbench_specification";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "node.toml") << R"(
summary = "a node"
source = "a test"
[link.wire]
bandwidth = "10 GBps"
latency = "1 us"
source = "a test"
[structure]
kind = "star"
link = "wire"
hosts = 4
source = "a test"
[fabric]
adapter = "wire"
adapters_per_node = 1
source = "a test"
)";
  std::ofstream(folder / "pair.toml") << R"(
summary = "nodes"
source = "a test"
[structure]
kind = "cluster"
node = "node.toml"
source = "a test"
)";
  std::ofstream(folder / "loop.toml") << R"(
summary = "itself"
source = "a test"
[structure]
kind = "cluster"
node = "loop.toml"
nodes = 2
source = "a test"
)";
  EXPECT_THAT(why_not((folder / "loop.toml").string()), HasSubstr("nested more than 4 deep"));
  EXPECT_EQ(machine((folder / "node.toml").string()).topology.hosts(), 4);
  EXPECT_EQ(machine((folder / "pair.toml").string() + ":3").topology.hosts(), 12);
  EXPECT_EQ(machine((folder / "pair.toml").string(), 5).topology.hosts(), 8);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace collbench

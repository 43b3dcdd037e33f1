// NCCL topology XML becomes the machine that NCCL itself sees in it.
#include "tests/topologies/route_names.h"

#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string gpu(int device, int rank, const std::string& bus, const std::string& links,
                int sm = 90) {
  return "<pci busid=\"" + bus +
         "\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
         std::to_string(device) + "\" sm=\"" + std::to_string(sm) + "\" rank=\"" +
         std::to_string(rank) + "\">" + links + "</gpu></pci>\n";
}

std::string node(const std::string& first, const std::string& second) {
  return "<system version=\"1\">\n"
         "<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
         "modelid=\"143\">\n" +
         first +
         "</cpu>\n"
         "<cpu numaid=\"1\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
         "modelid=\"143\">\n" +
         second + "</cpu>\n</system>\n";
}

Topology topology_of_node(const std::string& text) {
  return from_nccl_xml(text, "node.xml").topology;
}

TEST(ImportNccl, AllNvswitchesAreOneWithAllLinksOfAGpu) {
  const std::string links =
      "<nvlink target=\"f1\" count=\"10\" tclass=\"0x068000\"/>"
      "<nvlink target=\"f2\" count=\"8\" tclass=\"0x068000\"/>";
  const Topology topology = topology_of_node(node(gpu(0, 0, "a", links), gpu(1, 1, "b", links)));
  EXPECT_EQ(topology.hosts(), 2);
  EXPECT_EQ(route_names(topology, 0, 1), "gpu 0 > nvswitch > gpu 1");
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 1), 18 * 20.6);
}

TEST(ImportNccl, ACableThatBothGpusListIsOneCable) {
  const auto to = [](const char* bus) {
    return std::string("<nvlink target=\"") + bus + "\" count=\"12\" tclass=\"0x030200\"/>";
  };
  const Topology topology =
      topology_of_node(node(gpu(0, 0, "a", to("b"), 80), gpu(1, 1, "b", to("a"), 80)));
  EXPECT_EQ(route_names(topology, 0, 1), "gpu 0 > gpu 1");
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 1), 12 * 20);
}

TEST(ImportNccl, RowsOfOneTargetAddUp) {
  const auto to = [](const char* bus) {
    const std::string row =
        std::string("<nvlink target=\"") + bus + "\" count=\"2\" tclass=\"0x030200\"/>";
    return row + row;
  };
  const Topology topology =
      topology_of_node(node(gpu(0, 0, "a", to("b"), 80), gpu(1, 1, "b", to("a"), 80)));
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 1), 4 * 20);
}

// As RCCL writes an MI300X: <xgmi> where NCCL has <nvlink>, and gcn beside sm.
std::string amd_gpu(int device, const std::string& bus, const std::string& links) {
  const std::string number = std::to_string(device);
  return "<pci busid=\"" + bus +
         "\" class=\"0x120000\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"" +
         number + "\" sm=\"94\" gcn=\"gfx942\" rank=\"" + number + "\" gdr=\"1\">" + links +
         "</gpu></pci>\n";
}
std::string amd_node(const std::string& devices) {
  return "<system version=\"2\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" "
         "familyid=\"143\" modelid=\"49\">\n" +
         devices + "</cpu></system>\n";
}

TEST(ImportNccl, XgmiLinksOfRcclAreCables) {
  const auto to = [](const char* bus) {
    return std::string("<xgmi target=\"") + bus + "\" count=\"1\" tclass=\"0x130000\"/>";
  };
  const Machine machine = from_nccl_xml(
      amd_node(amd_gpu(0, "a", to("b") + to("z") + to("z")) + amd_gpu(1, "b", to("a"))), "n.xml");
  EXPECT_EQ(route_names(machine.topology, 0, 1), "gpu 0 > gpu 1");
  EXPECT_DOUBLE_EQ(route_GBps(machine.topology, 0, 1), 48);
  EXPECT_EQ(machine.topology.link_name(route(machine.topology, 0, 1)[0]), "gpu 0 -> gpu 1 (xgmi)");
  EXPECT_EQ(machine.summary,
            "2 GPUs of one node, from an RCCL topology file; costs beside the links as NCCL's; "
            "2 xGMI links lead to GPUs outside the file");
}

TEST(ImportNccl, WhatAGpuHasThatIsNotReadIsSaid) {
  const Machine machine =
      from_nccl_xml(node(gpu(0, 0, "a", "<ualink target=\"b\"/>"), gpu(1, 1, "b", "")), "n.xml");
  EXPECT_THAT(machine.summary, testing::EndsWith("; of the GPUs not read: <ualink>"));
}

// NCCL's netOverhead: 1 us, with AMD's CPUs 2, three times as long for Simple.
TEST(ImportNccl, MessagesKeepTheProxyOfAmdsCpusTwiceAsLong) {
  const auto gap_us = [](const std::string& text) {
    const Costs costs = from_nccl_xml(text, "n.xml").costs;
    const Seconds simple = costs.message_gap[1] + costs.protocols[2].message_gap[1];
    return std::pair{costs.message_gap[1].count() * 1e6, simple.count() * 1e6};
  };
  EXPECT_EQ(gap_us(node(gpu(0, 0, "a", ""), "")), std::pair(1.0, 3.0));
  EXPECT_EQ(gap_us(amd_node(amd_gpu(0, "a", ""))), std::pair(2.0, 6.0));
}

TEST(ImportNccl, NominalAndReachedRatesAreApart) {
  const std::string link = "<nvlink target=\"b\" count=\"1\" tclass=\"0x030200\"/>";
  const Topology topology =
      topology_of_node(node(gpu(0, 0, "a", link, 70), gpu(1, 1, "b", "", 70)));
  int nvlinks = 0;
  for (const LinkClass& c : topology.classes()) {
    EXPECT_FALSE(c.source.empty()) << c.name;
    if (c.name != "nvlink2") continue;
    ++nvlinks;
    EXPECT_DOUBLE_EQ(c.nominal.bytes_per_second, 25e9);
    EXPECT_DOUBLE_EQ(c.efficiency, 0.8);
  }
  EXPECT_EQ(nvlinks, 1);
}

TEST(ImportNccl, WithoutNvlinksTheWayLeadsOverTheCpus) {
  const Topology topology = topology_of_node(node(gpu(0, 0, "a", ""), gpu(1, 1, "b", "")));
  EXPECT_EQ(route_names(topology, 0, 1), "gpu 0 > cpu 0 > cpu 1 > gpu 1");
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 1), 22);
}

TEST(ImportNccl, HostsAreNumberedByRank) {
  const Topology topology = topology_of_node(node(gpu(0, 1, "a", ""), gpu(1, 0, "b", "")));
  EXPECT_EQ(topology.vertex_name(0), "gpu 1");
  EXPECT_EQ(topology.vertex_name(1), "gpu 0");
}

TEST(ImportNccl, AdaptersHangOnTheirBridgeAndTheirPortsAreBetweenNodes) {
  const std::string bridge =
      "<pci busid=\"s\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">" +
      gpu(0, 0, "a", "") +
      "<pci busid=\"n\" class=\"0x020000\" link_speed=\"16 GT/s\" link_width=\"8\"><nic>"
      "<net name=\"mlx5_0\" dev=\"0\" speed=\"200000\" latency=\"2.5\"/></nic></pci></pci>";
  const Topology topology = topology_of_node(node(bridge, gpu(1, 1, "b", "")));
  bool has_port = false;
  for (const LinkClass& c : topology.classes()) {
    if (c.level != 1) continue;
    has_port = true;
    EXPECT_DOUBLE_EQ(c.nominal.bytes_per_second, 25e9);
    EXPECT_DOUBLE_EQ(c.latency.count(), 2.5e-6);
  }
  EXPECT_TRUE(has_port);
  EXPECT_EQ(route_names(topology, 0, 1), "gpu 0 > pci s > cpu 0 > cpu 1 > gpu 1");
}

TEST(ImportNccl, PciDevicesOfClassDisplayAreGpusWhereNoneIsNamed) {
  const std::string device = "<pci busid=\"a\" class=\"0x030200\" link_speed=\"16 GT/s\"/>";
  const std::string other = "<pci busid=\"b\" class=\"0x030200\" link_speed=\"16 GT/s\"/>";
  EXPECT_EQ(topology_of_node(node(device, other)).hosts(), 2);
}

TEST(ImportNccl, LinksToGpusOutsideTheFileAreCounted) {
  const std::string link = "<nvlink target=\"z\" count=\"4\" tclass=\"0x030200\"/>";
  const Machine machine = from_nccl_xml(node(gpu(0, 0, "a", link), gpu(1, 1, "b", "")), "n.xml");
  EXPECT_THAT(machine.summary, HasSubstr("4 NVLinks lead to GPUs outside the file"));
}

TEST(ImportNccl, CarriesTheLatenciesOfNcclsProtocols) {
  const Machine machine = from_nccl_xml(node(gpu(0, 0, "a", ""), gpu(1, 1, "b", "")), "n.xml");
  ASSERT_EQ(machine.costs.protocols.size(), 3U);
  EXPECT_EQ(machine.costs.protocols[0].name, "LL");
  EXPECT_DOUBLE_EQ(machine.costs.protocols[0].wire_factor, 2);
  EXPECT_DOUBLE_EQ(machine.costs.protocols[2].message_latency[0].count(), 5.7e-6);  // PCI
}

TEST(ImportNccl, WhatIsWrongIsNamedWithItsLine) {
  const auto why = [](const std::string& text) { return refusal([&] { topology_of_node(text); }); };
  EXPECT_THAT(why("<system>\n<cpu>\n<pci class=\"0x030200\"/></cpu></system>"),
              StartsWith("node.xml:3: <pci>: needs the attribute busid"));
  EXPECT_THAT(why("<system>\n<cpu\n"), StartsWith("node.xml:2: no well-formed XML"));
  EXPECT_THAT(why("<graphs/>"), HasSubstr("starts with <system>"));
  EXPECT_THAT(why("<system version=\"1\"/>"), StartsWith("node.xml: no host in it"));
  EXPECT_THAT(why(node(gpu(0, 0, "a", ""), gpu(1, 1, "a", ""))), HasSubstr("a second GPU"));
  EXPECT_THAT(why(node(gpu(0, 0, "a", "<nvlink target=\"b\" count=\"0\"/>"), "")),
              HasSubstr("count=\"0\" must be a whole number from 1"));
}

}  // namespace
}  // namespace collbench

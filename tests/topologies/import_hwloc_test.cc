// hwloc XML: GPUs where there are any, otherwise cores.
#include <fmt/format.h>

#include "tests/topologies/route_names.h"

#include "topologies/bounds.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

using testing::HasSubstr;

Topology topology_of_host(const std::string& text) {
  return from_hwloc_xml(text, "host.xml").topology;
}

std::string machine_of(const std::string& inside) {
  return "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
         "<topology version=\"2.0\"><object type=\"Machine\">\n" +
         inside + "</object></topology>\n";
}

// Two packages with a NUMA node, an L3 and two cores each.
std::string package(const std::string& more = "") {
  const std::string core = "<object type=\"Core\"><object type=\"PU\"/></object>";
  return "<object type=\"Package\"><object type=\"NUMANode\"/><object type=\"L3Cache\">" + core +
         core + "</object>" + more + "</object>\n";
}

std::string bridge(const std::string& inside) {
  return "<object type=\"Bridge\" bridge_type=\"0-1\">"
         "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0000:01:00.0\" "
         "pci_link_speed=\"31.5\">" +
         inside + "</object></object>";
}

std::string pci(const std::string& type) {
  return "<object type=\"PCIDev\" pci_type=\"" + type +
         "\" pci_link_speed=\"15.75\">"
         "<object type=\"OSDev\" name=\"dev0\"/></object>";
}

TEST(ImportHwloc, CoresAreHostsWhereThereIsNoGpu) {
  const Topology topology = topology_of_host(machine_of(package() + package()));
  EXPECT_EQ(topology.hosts(), 4);
  EXPECT_EQ(route_names(topology, 0, 1), "core 0 > L3 0 > core 1");
  EXPECT_EQ(route_names(topology, 0, 3), "core 0 > L3 0 > numa 0 > numa 1 > L3 1 > core 3");
}

TEST(ImportHwloc, CoresWithoutANumaNodeHangFromTheMachine) {
  const std::string core = "<object type=\"Core\"><object type=\"PU\"/></object>";
  const Topology topology = topology_of_host(machine_of(core + core + core));
  EXPECT_EQ(topology.hosts(), 3);
  EXPECT_EQ(topology.vertices(), 4);
  EXPECT_EQ(route_names(topology, 0, 2), "core 0 > machine > core 2");
}

TEST(ImportHwloc, TheCachePassesWhatAllItsCoresCan) {
  const Topology topology = topology_of_host(machine_of(package() + package()));
  std::vector<LinkId> route;
  topology.route(0, 3, route);
  EXPECT_DOUBLE_EQ(topology.capacity(route[1]), 2 * topology.capacity(route[0]));
}

// As lstopo 2.9.0 writes "package:2 [numa] l3:1 core:2 pu:1", less attributes that are not read.
std::string lstopo_package(int number, const std::string& memory) {
  const std::string core = "<object type=\"Core\"><object type=\"PU\"/></object>";
  return fmt::format(
      "<object type=\"Package\" os_index=\"{}\">{}<object type=\"L3Cache\" "
      "depth=\"3\">{}{}</object>"
      "</object>\n",
      number, memory, core, core);
}

TEST(ImportHwloc, ANumaNodeIsALeafThoughItListsItsPages) {
  const std::string node =
      "<object type=\"NUMANode\" os_index=\"0\"><page_type size=\"4096\" count=\"0\"/></object>";
  const std::string cached =
      "<object type=\"MemCache\" depth=\"1\"><info name=\"a\" value=\"b\"/>" + node + "</object>";
  for (const std::string& memory : {node, cached}) {
    const Topology topology =
        topology_of_host(machine_of(lstopo_package(0, memory) + lstopo_package(1, memory)));
    EXPECT_EQ(topology.vertices(), 4 + 4) << memory;
    EXPECT_EQ(route_names(topology, 0, 3), "core 0 > L3 0 > numa 0 > numa 1 > L3 1 > core 3");
    EXPECT_DOUBLE_EQ(bisection(topology)->lesser().bytes_per_second, 10e9) << memory;
  }
}

TEST(ImportHwloc, MemoryThatNoCoreIsBesideIsNoWayBetweenNodes) {
  const std::string node = "<object type=\"NUMANode\"><page_type size=\"4096\"/></object>";
  const Topology topology =
      topology_of_host(machine_of(node + lstopo_package(0, node) + lstopo_package(1, node)));
  EXPECT_EQ(topology.vertices(), 4 + 4);
  EXPECT_DOUBLE_EQ(bisection(topology)->lesser().bytes_per_second, 10e9);
}

TEST(ImportHwloc, GpusAreHostsBelowTheirBridges) {
  const std::string gpu = pci("0302 [10de:20b0] [10de:144e] a1");
  const std::string nic = pci("0207 [15b3:101b] [15b3:0007] 00");
  const Topology topology =
      topology_of_host(machine_of(package(bridge(gpu + gpu)) + package(bridge(gpu + nic))));
  EXPECT_EQ(topology.hosts(), 3);
  EXPECT_EQ(route_names(topology, 0, 1), "gpu 0 > pci 0000:01:00.0 > gpu 1");
  EXPECT_EQ(route_names(topology, 0, 2),
            "gpu 0 > pci 0000:01:00.0 > numa 0 > numa 1 > pci 0000:01:00.0 > gpu 2");
  EXPECT_NEAR(route_GBps(topology, 0, 1), 15.75 * 12 / 15.754, 1e-9);
}

TEST(ImportHwloc, TheScreenOfABoardsServiceProcessorIsNoGpu) {
  const Topology topology =
      topology_of_host(machine_of(package(bridge(pci("0300 [1a03:2000] [1a03:2000] 41")))));
  EXPECT_EQ(topology.vertex_name(0), "core 0");
}

TEST(ImportHwloc, ReadsVersionOneWhereNumaNodesEnclose) {
  const Topology topology = topology_of_host(
      "<topology><object type=\"Machine\"><object type=\"NUMANode\"><object type=\"Core\"/>"
      "</object><object type=\"NUMANode\"><object type=\"Core\"/></object></object></topology>");
  EXPECT_EQ(route_names(topology, 0, 1), "core 0 > numa 0 > numa 1 > core 1");
}

TEST(ImportHwloc, WhatIsWrongIsNamed) {
  const auto why = [](const std::string& text) { return refusal([&] { topology_of_host(text); }); };
  EXPECT_THAT(why("<topology/>"), HasSubstr("no host in it"));
  EXPECT_THAT(why("<system/>"), HasSubstr("starts with <topology>"));
  EXPECT_THAT(why(machine_of(package(
                  "<object type=\"PCIDev\" pci_type=\"0302 [10de:20b0]\" pci_link_speed=\"x\"/>"))),
              HasSubstr("host.xml:4: <object>: pci_link_speed=\"x\" is not a number"));
}

}  // namespace
}  // namespace collbench

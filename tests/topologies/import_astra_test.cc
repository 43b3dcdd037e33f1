// ASTRA-sim network files: products of rings, full connections and switches.
#include <cmath>

#include "tests/topologies/route_names.h"

#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const char* const three =
    "topology: [ Ring, FullyConnected, Switch ]\n"
    "npus_count: [ 4, 3, 2 ]\n"
    "bandwidth: [ 50.0, 25, 12.5 ]  # GB/s\n"
    "latency: [ 500, 700, 1000 ]\n";

Topology topology_of_yaml(const std::string& text) {
  return from_astra_yaml(text, "net.yml").topology;
}

TEST(ImportAstra, DimensionsMultiplyAndTheFirstIsInnermost) {
  const Topology topology = topology_of_yaml(three);
  EXPECT_EQ(topology.hosts(), 24);
  EXPECT_THAT(topology.layout().dims, testing::ElementsAre(4, 3, 2));
  EXPECT_EQ(topology.vertices(), 24 + 12);
}

TEST(ImportAstra, AGigabyteIsTwoToThe30) {
  EXPECT_DOUBLE_EQ(route_GBps(topology_of_yaml(three), 0, 1), 50 * 1.073741824);
}

TEST(ImportAstra, RoutesGoDimensionByDimension) {
  const Topology topology = topology_of_yaml(three);
  // From (0,0,0) to (3,1,1): down the ring, straight across, through the switch of (3,1).
  EXPECT_EQ(route_names(topology, 0, 3 + 4 + 12), "host 0 > host 3 > host 7 > switch 7 > host 19");
}

TEST(ImportAstra, ASwitchIsTwoLinksOfLatency) {
  EXPECT_DOUBLE_EQ(route_us(topology_of_yaml(three), 0, 12), 2.0);
  EXPECT_DOUBLE_EQ(route_us(topology_of_yaml(three), 0, 4), 0.7);
}

TEST(ImportAstra, EveryRouteConnectsItsEndsAndRingsTakeTheShorterWay) {
  const Topology topology = topology_of_yaml(
      "topology: [Ring, Ring]\nnpus_count: [5, 2]\nbandwidth: [1, 1]\nlatency: [1000, 1000]\n");
  std::vector<LinkId> route;
  for (Host a = 0; a < 10; ++a) {
    for (Host b = 0; b < 10; ++b) {
      topology.route(a, b, route);
      Vertex at = a;
      for (const LinkId link : route) {
        EXPECT_EQ(topology.links()[link].from, at);
        at = topology.links()[link].to;
      }
      EXPECT_EQ(at, b);
      const int apart = std::abs(a % 5 - b % 5);
      EXPECT_EQ(static_cast<int>(route.size()), std::min(apart, 5 - apart) + (a / 5 != b / 5));
    }
  }
}

TEST(ImportAstra, WhatIsWrongIsNamedWithItsLine) {
  const auto why = [](const std::string& text) { return refusal([&] { topology_of_yaml(text); }); };
  EXPECT_THAT(why("topology: [ Rings ]\nnpus_count: [8]\nbandwidth: [1]\nlatency: [1]\n"),
              StartsWith("net.yml:1: unknown topology 'Rings'. Did you mean 'Ring'?"));
  EXPECT_THAT(why("topology: [Ring]\nnpus_count: [8, 2]\nbandwidth: [1]\nlatency: [1]\n"),
              StartsWith("net.yml:2: 2 entries for the 1 dimensions"));
  EXPECT_THAT(why("topology: [Ring]\nnpus_count: [8]\nbandwidth: [0]\nlatency: [1]\n"),
              StartsWith("net.yml:3: bandwidth must be above 0"));
  EXPECT_THAT(why("topology: [Ring]\nnpus_count: [8]\nbandwidth: [fast]\nlatency: [1]\n"),
              HasSubstr("is not a number"));
  EXPECT_THAT(why("topology: [Ring]\nnpus_count: [8]\nbandwidth: [1]\n"),
              HasSubstr("the key 'latency' is missing"));
  EXPECT_THAT(why("topology: [Ring\n"), StartsWith("net.yml:"));
  EXPECT_THAT(why("npus_count"), HasSubstr("has keys"));
  EXPECT_THAT(why("topology: [FullyConnected]\nnpus_count: [100000]\nbandwidth: [1]\n"
                  "latency: [1]\n"),
              HasSubstr("links"));
}

}  // namespace
}  // namespace collbench

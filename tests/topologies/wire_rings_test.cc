// Rings over cables: on which machines there are how many, and that no lane carries two.
#include "topologies/wire_rings.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "topologies/specification.h"

namespace collbench {
namespace {

std::size_t rings_of(const std::string& name, int ranks) {
  const Topology topology = machine(name, ranks).topology;
  std::map<std::pair<Host, Host>, double> lanes;
  for (const Link& link : topology.links()) lanes[{link.from, link.to}] += link.lanes;
  const std::vector<std::vector<Host>> rings = wire_rings(topology, ranks);
  for (const std::vector<Host>& ring : rings) {
    EXPECT_EQ(ring.size(), static_cast<std::size_t>(ranks));
    EXPECT_EQ(std::set<Host>(ring.begin(), ring.end()).size(), ring.size()) << "each host once";
    for (std::size_t i = 0; i < ring.size(); ++i) {
      lanes[{ring[i], ring[(i + 1) % ring.size()]}] -= 1;
    }
  }
  for (const auto& [ends, left] : lanes) {
    EXPECT_GE(left, 0) << name << ": " << ends.first << " to " << ends.second;
  }
  return rings.size();
}

TEST(WireRings, UseEveryCableWhereTheyCan) {
  EXPECT_EQ(rings_of("mi300x", 8), 7U);
  EXPECT_EQ(rings_of("dgx-1-v100", 8), 6U) << "six NVLinks a GPU";
  EXPECT_EQ(rings_of("full:3,10GBps,1us", 3), 2U);
  EXPECT_EQ(rings_of("full:16,10GBps,1us", 16), 15U);
  EXPECT_EQ(rings_of("full:8,10GBps,1us", 7), 6U) << "of the first seven hosts only";
}

TEST(WireRings, FourAndSixHostsHaveNoCompleteSet) {
  // Tillson 1980: the complete digraphs of 4 and 6 vertices do not part into rings.
  EXPECT_EQ(rings_of("full:4,10GBps,1us", 4), 2U);
  EXPECT_EQ(rings_of("full:6,10GBps,1us", 6), 4U);
}

TEST(WireRings, AreNoneThroughSwitchesForTwoAndForVeryMany) {
  EXPECT_EQ(rings_of("dgx-h100", 8), 0U);
  EXPECT_EQ(rings_of("full:8,10GBps,1us", 2), 0U);
  EXPECT_EQ(rings_of("full:17,10GBps,1us", 17), 0U);
  EXPECT_EQ(rings_of("cluster:2xmi300x", 16), 0U) << "no cable leaves a node";
}

}  // namespace
}  // namespace collbench

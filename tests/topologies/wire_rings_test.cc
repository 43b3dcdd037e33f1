// Rings over cables: on which machines there are how many, and that no lane carries two.
#include "topologies/wire_rings.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"
#include "topologies/networks/networks.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

std::size_t rings_of(const Topology& topology, int ranks) {
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
    EXPECT_GE(left, 0) << topology.name() << ": " << ends.first << " to " << ends.second;
  }
  return rings.size();
}

std::size_t rings_of(const std::string& name, int ranks) {
  return rings_of(machine(name, ranks).topology, ranks);
}

/// Every ring over `hosts` hosts, from host 0 on.
std::vector<std::vector<Host>> all_rings(int hosts) {
  std::vector<Host> ring(static_cast<std::size_t>(hosts));
  std::iota(ring.begin(), ring.end(), 0);
  std::vector<std::vector<Host>> rings;
  do rings.push_back(ring);
  while (std::next_permutation(ring.begin() + 1, ring.end()));
  return rings;
}

/// The most rings that the lanes carry at once, by trying all: rings[first] and later ones.
int most_at_once(std::map<std::pair<Host, Host>, int>& lanes,
                 const std::vector<std::vector<Host>>& rings, std::size_t first) {
  int most = 0;
  for (std::size_t i = first; i < rings.size(); ++i) {
    std::vector<std::pair<Host, Host>> ways;
    for (std::size_t h = 0; h < rings[i].size(); ++h) {
      ways.emplace_back(rings[i][h], rings[i][(h + 1) % rings[i].size()]);
    }
    if (!std::all_of(ways.begin(), ways.end(), [&](auto way) { return lanes[way] > 0; })) continue;
    for (const auto& way : ways) --lanes[way];
    most = std::max(most, 1 + most_at_once(lanes, rings, i));
    for (const auto& way : ways) ++lanes[way];
  }
  return most;
}

TEST(WireRings, AreAsManyAsTryingAllOfThemFinds) {
  const LinkClass cable{.name = "cable", .nominal = {1e9}, .latency = Seconds{1e-6}, .source = {}};
  int found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    RandomEngine random = random_engine(seed, "wire rings");
    const int hosts = 3 + static_cast<int>(random() % 3);
    std::vector<Cable> cables;
    std::map<std::pair<Host, Host>, int> lanes;
    for (Host a = 0; a < hosts; ++a) {
      for (Host b = 0; b < hosts; ++b) {
        const int count = a == b ? 0 : static_cast<int>(random() % 3);
        if (count == 0) continue;
        cables.push_back({a, b, 0, static_cast<float>(count), true});
        lanes[{a, b}] = count;
      }
    }
    const Topology topology = graph("random " + std::to_string(seed), hosts, hosts,
                                    Layout{.dims = {hosts}, .wraps = {}}, {cable}, cables);
    const int most = most_at_once(lanes, all_rings(hosts), 0);
    EXPECT_EQ(rings_of(topology, hosts), static_cast<std::size_t>(most)) << topology.name();
    found += most;
  }
  EXPECT_GT(found, 200) << "random graphs with few rings test little";
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

// Routes of random graphs against relaxation until nothing changes.
#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

#include "topologies/networks/networks.h"

namespace collbench {
namespace {

constexpr int unreached = std::numeric_limits<int>::max() / 2;

/// The fewest links from one vertex to each, and the widest narrowest link of such ways.
struct BestWays {
  std::vector<int> links;
  std::vector<float> lanes;
};

BestWays best_ways(const std::vector<Cable>& cables, int vertices, Vertex from) {
  BestWays best{std::vector<int>(static_cast<std::size_t>(vertices), unreached),
                std::vector<float>(static_cast<std::size_t>(vertices), 0)};
  best.links[from] = 0;
  best.lanes[from] = std::numeric_limits<float>::max();
  const auto relax = [&](Vertex a, Vertex b, float lanes) {
    const std::pair offered(-(best.links[a] + 1), std::min(best.lanes[a], lanes));
    if (best.links[a] == unreached || offered <= std::pair(-best.links[b], best.lanes[b])) {
      return false;
    }
    best.links[b] = -offered.first;
    best.lanes[b] = offered.second;
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Cable& cable : cables) {
      changed = relax(cable.a, cable.b, cable.lanes) || changed;
      changed = (!cable.one_way && relax(cable.b, cable.a, cable.lanes)) || changed;
    }
  }
  return best;
}

std::vector<Cable> random_cables(std::mt19937& random, int vertices) {
  const auto below = [&](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  std::vector<Cable> cables;
  std::set<std::pair<Vertex, Vertex>> joined;
  for (int i = 3 * vertices; i > 0; --i) {
    const Vertex a = below(vertices);
    const Vertex b = below(vertices);
    if (a == b || !joined.insert(std::minmax(a, b)).second) continue;
    cables.push_back({a, b, 0, static_cast<float>(1 + below(4)), below(4) == 0});
  }
  return cables;
}

TEST(GraphRoutes, HaveTheFewestLinksAndAmongThoseTheWidest) {
  std::mt19937 random(19);
  int compared = 0;
  for (int round = 0; round < 120; ++round) {
    const int hosts = 2 + round % 7;
    const int vertices = hosts + round % 5;
    const std::vector<Cable> cables = random_cables(random, vertices);
    for (const EqualPaths equal : {EqualPaths::first, EqualPaths::spread}) {
      const Topology topology = graph("g", hosts, vertices, Layout{.dims = {hosts}, .wraps = {}},
                                      {wire()}, cables, {}, equal);
      for (Host from = 0; from < hosts; ++from) {
        const BestWays best = best_ways(cables, vertices, from);
        for (Host to = 0; to < hosts; ++to) {
          if (best.links[to] == unreached) {
            EXPECT_THROW(route(topology, from, to), InvalidArgument) << round;
            continue;
          }
          const std::vector<LinkId> links = route(topology, from, to);
          ASSERT_EQ(std::ssize(links), best.links[to]) << round << ' ' << from << ' ' << to;
          if (from == to) continue;
          double narrowest = std::numeric_limits<double>::max();
          for (const LinkId link : links) {
            narrowest = std::min(narrowest, topology.capacity(link));
          }
          EXPECT_DOUBLE_EQ(narrowest, static_cast<double>(best.lanes[to]) * 1e9) << round;
          EXPECT_EQ(path(topology, from, to).back(), to);
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 2000);
}

}  // namespace
}  // namespace collbench

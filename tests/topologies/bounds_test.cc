// What networks can do at best, where it is known by counting.
#include "topologies/bounds.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/random.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

LinkClass link() {
  LinkClass made;
  made.name = "x";
  made.nominal = {10e9};
  made.efficiency = 0.5;
  made.latency = Seconds{2e-6};
  made.source = "a test";
  return made;
}
constexpr double reached = 5e9;

double bisected(const Topology& topology) { return bisection(topology)->forth.bytes_per_second; }

TEST(Bounds, TheBisectionIsWhatCrossesTheMiddle) {
  EXPECT_DOUBLE_EQ(bisected(star(8, link())), 4 * reached);
  EXPECT_DOUBLE_EQ(bisected(star(7, link())), 3 * reached);
  EXPECT_DOUBLE_EQ(bisected(fully_connected(4, link())), 4 * reached);
  EXPECT_DOUBLE_EQ(bisected(torus({4, 8}, {true, true}, {link()})), 2 * 4 * reached);
  EXPECT_DOUBLE_EQ(bisected(torus({8, 4}, {false, false}, {link()})), 4 * reached);
}

TEST(Bounds, AGridIsCutWhereTheLeastCrosses) {
  const auto wide = [](double factor) {
    LinkClass made = link();
    made.nominal.bytes_per_second *= factor;
    return made;
  };
  // Two narrow rings of four, or four narrow links, rather than wide ones.
  EXPECT_DOUBLE_EQ(bisected(torus({2, 4}, {false, true}, {wide(9), link()})), 2 * 2 * reached);
  EXPECT_DOUBLE_EQ(bisected(torus({4, 2}, {true, false}, {wide(9), link()})), 4 * reached);
  // Two cores of a chip are joined by what is wider than the links between chips.
  EXPECT_DOUBLE_EQ(bisected(chips_with_cores(torus({2, 2}, {false, false}, {link()}), 2, wide(9))),
                   2 * reached);
  // Halves of an odd axis end inside its middle row: two rings of nine and one link across.
  EXPECT_DOUBLE_EQ(bisected(torus({9, 2}, {true, false}, {link()})), 5 * reached);
}

/// The least that crosses from the first half of the hosts, whichever side each switch is on.
double least_cut(const Topology& topology, int switches) {
  double least = std::numeric_limits<double>::infinity();
  for (int sides = 0; sides < 1 << switches; ++sides) {
    const auto is_first = [&](Vertex v) {
      const int hosts = topology.hosts();
      return v < hosts ? v < hosts / 2 : (sides >> (v - hosts) & 1) != 0;
    };
    double cut = 0;
    for (std::size_t i = 0; i < topology.links().size(); ++i) {
      const Link& one = topology.links()[i];
      if (is_first(one.from) && !is_first(one.to)) cut += topology.capacity(static_cast<LinkId>(i));
    }
    least = std::min(least, cut);
  }
  return least;
}

// Rates whose sums a double rounds: Boost asserts that no flow is lost.
TEST(Bounds, TheBisectionIsTheLeastCutAlsoOfRatesThatAreFractions) {
  RandomEngine random = random_engine(1, "bisections");
  for (int turn = 0; turn < 30; ++turn) {
    constexpr int hosts = 4;
    constexpr int switches = 4;
    std::vector<LinkClass> classes(5, link());
    for (LinkClass& one : classes) {
      one.nominal = {1e9 * static_cast<double>(1 + random() % 400) / 7};
      one.efficiency = 0.7617;
    }
    std::vector<Cable> cables;
    for (int v = 1; v < hosts + switches; ++v) {
      for (int k = 0; k < 2; ++k) {
        cables.push_back({static_cast<Vertex>(random() % static_cast<unsigned>(v)), v,
                          static_cast<std::int32_t>(random() % classes.size())});
      }
    }
    const Topology made =
        graph("made", hosts, hosts + switches, {Layout::Kind::flat, {hosts}, {}}, classes, cables);
    EXPECT_NEAR(bisected(made) / least_cut(made, switches), 1, 1e-8) << turn;
  }
}

TEST(Bounds, EachWayIsCutByItself) {
  LinkClass slow = link();
  slow.nominal = {1e9};
  const Layout layout{Layout::Kind::flat, {4}, {}};
  // A ring one way round, whose last link is slow; and the same through a switch.
  const auto ring_over = [&](int vertices, const std::vector<Cable>& end) {
    std::vector<Cable> cables{{0, 1, 0, 1, true}, {1, 2, 0, 1, true}, {2, 3, 0, 1, true}};
    cables.insert(cables.end(), end.begin(), end.end());
    return *bisection(graph("ring", 4, vertices, layout, {link(), slow}, cables));
  };
  for (const Bisection& cut : {ring_over(4, {{3, 0, 1, 1, true}}),
                               ring_over(5, {{3, 4, 0, 1, true}, {4, 0, 1, 1, true}})}) {
    EXPECT_DOUBLE_EQ(cut.forth.bytes_per_second, reached);
    EXPECT_DOUBLE_EQ(cut.back.bytes_per_second, reached / 10);
  }
}

// One link that serves both directions, as platforms of SimGrid have them.
TEST(Bounds, OfStatedRoutesNoCutIsCounted) {
  const Topology stated("stated", 2, 2, {Layout::Kind::flat, {2}, {}}, {link()}, {{0, 1, 0, 1}},
                        [](Host, Host, std::vector<LinkId>& out) { out.push_back(0); });
  EXPECT_FALSE(links_join_routes(stated));
  EXPECT_FALSE(bisection(stated));
  EXPECT_TRUE(links_join_routes(star(3, link())));
}

TEST(Bounds, ATaperedTreeIsAsNarrowAsItsTop) {
  const Topology tree = fat_tree({4, 2}, {1, 1}, {1, 1}, {link(), link()});
  EXPECT_DOUBLE_EQ(bisected(tree), reached);
}

TEST(Bounds, ARingHasTheRateOfItsMostSharedLink) {
  const auto rate = [](const Topology& t) { return ring_bound(t)->rate.bytes_per_second; };
  EXPECT_DOUBLE_EQ(rate(star(8, link())), reached);
  EXPECT_DOUBLE_EQ(ring_bound(star(8, link()))->latency.count(), 2e-6);
  // From the end of a row back to the next row's start the whole row is passed again.
  EXPECT_DOUBLE_EQ(rate(torus({4, 2}, {false, false}, {link()})), reached);
  EXPECT_DOUBLE_EQ(ring_bound(torus({4, 2}, {false, false}, {link()}))->latency.count(), 8e-6);
}

TEST(Bounds, OneHostHasNone) {
  EXPECT_FALSE(bisection(torus({1}, {false}, {link()})));
  EXPECT_FALSE(ring_bound(torus({1}, {false}, {link()})));
}

TEST(Bounds, TooManyLinksAreLeftOut) { EXPECT_FALSE(bisection(star(8, link()), 15)); }

}  // namespace
}  // namespace collbench

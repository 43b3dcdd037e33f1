// What networks can do at best, where it is known by counting.
#include "topologies/bounds.h"

#include <gtest/gtest.h>

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

double bisected(const Topology& topology) { return bisection(topology)->bytes_per_second; }

TEST(Bounds, TheBisectionIsWhatCrossesTheMiddle) {
  EXPECT_DOUBLE_EQ(bisected(star(8, link())), 4 * reached);
  EXPECT_DOUBLE_EQ(bisected(star(7, link())), 3 * reached);
  EXPECT_DOUBLE_EQ(bisected(fully_connected(4, link())), 4 * reached);
  EXPECT_DOUBLE_EQ(bisected(torus({4, 8}, {true, true}, {link()})), 2 * 4 * reached);
  EXPECT_DOUBLE_EQ(bisected(torus({8, 4}, {false, false}, {link()})), 4 * reached);
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

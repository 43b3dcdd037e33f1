#include "topologies/networks/networks.h"

#include <optional>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

namespace collbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<Topology> networks() {
  const LinkClass w = wire();
  const std::vector<LinkClass> one{w};
  std::vector<Topology> all{
      star(1, w),
      star(9, w),
      fully_connected(1, w),
      fully_connected(7, w),
      torus({4, 3, 2}, {true, false, true}, one),
      torus({8, 5}, {true, true}, {w, w}),
      torus({7}, {false}, one),
      torus({1, 4, 1}, {true, true, true}, one),
      fat_tree({4, 4, 2}, {1, 2, 2}, {1, 2, 2}, one),
      fat_tree({3, 2, 4}, {2, 3, 2}, {3, 2, 2}, {w, w, w}),
      fat_tree({5}, {1}, {1}, one),
      dragonfly(3, 4, 5, 2, {1, w}, {2, w}, {1, w}, w),
      dragonfly(1, 1, 3, 2, {1, w}, {1, w}, {1, w}, w),
      dragonfly(1, 1, 1, 1, {1, w}, {1, w}, {1, w}, w),
      chips_with_cores(torus({3, 4}, {true, false}, one), 2, w),
      chips_with_cores(star(4, w), 3, w),
      graph("line", 3, 3, Layout{.dims = {3}, .wraps = {}}, one, {{0, 1}, {1, 2}})};
  for (const int adapters : {1, 3, 8, 32}) {
    for (const bool rails : {false, true}) {
      for (const auto& spine : {std::optional<LinkClass>(), std::optional(w)}) {
        all.push_back(cluster(star(8, w), 3, {w, adapters, rails, spine, 4}));
      }
    }
  }
  all.push_back(cluster(cluster(star(2, w), 2, {w, 2, true}), 3, {w, 4, true}));
  return all;
}

TEST(NetworksTest, EveryRouteIsAPathWithoutALoop) {
  for (const Topology& topology : networks()) EXPECT_EQ(broken_route(topology, 200), "");
}

TEST(NetworksTest, EveryCableHasBothDirections) {
  for (const Topology& topology : networks()) {
    std::multiset<std::tuple<Vertex, Vertex, float>> there, back;
    for (const Link& link : topology.links()) {
      there.emplace(link.from, link.to, link.lanes);
      back.emplace(link.to, link.from, link.lanes);
    }
    EXPECT_EQ(there, back) << topology.name();
  }
}

TEST(StarTest, ARouteCostsTheLatencyOnce) {
  const Topology topology = star(4, wire(1, 5));
  EXPECT_DOUBLE_EQ(summarize(topology, route(topology, 1, 3)).latency.count(), 5e-6);
}

TEST(TorusTest, OpenAxesGoTheLongWayAndClosedOnesTheShort) {
  const Topology open = torus({6}, {false}, {wire()});
  EXPECT_THAT(path(open, 5, 1), ElementsAre(5, 4, 3, 2, 1));
  const Topology closed = torus({6}, {true}, {wire()});
  EXPECT_THAT(path(closed, 5, 1), ElementsAre(5, 0, 1));
  EXPECT_THAT(path(closed, 1, 5), ElementsAre(1, 0, 5));
}

TEST(TorusTest, HalfWayTiesGoUpFromEveryCoordinate) {
  const Topology ring = torus({4}, {true}, {wire()});
  for (Host h = 0; h < 4; ++h) {
    EXPECT_THAT(path(ring, h, (h + 2) % 4), ElementsAre(h, (h + 1) % 4, (h + 2) % 4));
  }
}

TEST(TorusTest, TheInnermostAxisIsTravelledFirst) {
  const Topology grid = torus({4, 4}, {false, false}, {wire()});
  EXPECT_THAT(path(grid, 0, 10), ElementsAre(0, 1, 2, 6, 10));
}

TEST(TorusTest, AnAxisOfTwoHasOneCable) {
  const Topology grid = torus({2, 3}, {true, true}, {wire(1), wire(2)});
  EXPECT_EQ(grid.links().size(), 2U * (3 * 1 + 2 * 3));
  EXPECT_THAT(grid.layout().wraps, ElementsAre(false, true));
  EXPECT_DOUBLE_EQ(grid.capacity(route(grid, 0, 1).front()), 1e9);
  EXPECT_DOUBLE_EQ(grid.capacity(route(grid, 0, 2).front()), 2e9);
}

TEST(FatTreeTest, GoesNoHigherThanItMustAndSpreadsByDestination) {
  const Topology tree = fat_tree({2, 2}, {1, 2}, {1, 1}, {wire()});
  // Hosts 0 to 3, leaf switches 4 and 5, top switches 6 and 7.
  EXPECT_THAT(path(tree, 0, 1), ElementsAre(0, 4, 1));
  EXPECT_THAT(path(tree, 0, 2), ElementsAre(0, 4, 6, 5, 2));
  EXPECT_THAT(path(tree, 0, 3), ElementsAre(0, 4, 7, 5, 3));
}

TEST(FatTreeTest, ShiftPermutationsDoNotCollideOnAFullTree) {
  const Topology tree = fat_tree({4, 4, 4}, {1, 4, 4}, {1, 1, 1}, {wire()});
  for (const int shift : {1, 4, 7, 16, 33, 63}) {
    std::vector<int> used(tree.links().size());
    for (Host h = 0; h < 64; ++h) {
      for (const LinkId link : route(tree, h, (h + shift) % 64)) {
        EXPECT_LE(++used[static_cast<std::size_t>(link)], 1)
            << "shift " << shift << ": " << tree.link_name(link);
      }
    }
  }
}

TEST(DragonflyTest, CrossesToAnotherGroupByItsOneBlueLink) {
  const LinkClass w = wire();
  const Topology fly = dragonfly(3, 4, 5, 2, {4, wire(3)}, {2, w}, {1, w}, w);
  const std::vector<LinkId> links = route(fly, 0, 119);
  ASSERT_EQ(links.size(), 6U);
  EXPECT_DOUBLE_EQ(fly.capacity(links[2]), 12e9);  // four lanes of 3 GB/s
  EXPECT_EQ(fly.vertex_name(fly.links()[static_cast<std::size_t>(links[2])].from),
            "router 2 of chassis 0 of group 0");
}

TEST(DragonflyTest, MoreGroupsThanRoutersPerChassisAreRefused) {
  const LinkClass w = wire();
  EXPECT_THAT(refusal([&] {
                dragonfly(4, 2, 3, 1, {1, w}, {1, w}, {1, w}, w);
              }),
              HasSubstr("4 groups need at least as many routers per chassis, not 3"));
}

TEST(GraphTest, PrefersFewLinksThenWidthThenTheSmallerVertex) {
  const Layout layout{.dims = {4}, .wraps = {}};
  const std::vector<LinkClass> classes{wire()};
  const auto of = [&](std::vector<Cable> cables) {
    return graph("g", 4, 4, layout, classes, cables);
  };
  EXPECT_THAT(path(of({{0, 1}, {1, 3}, {0, 2}, {2, 3}}), 0, 3), ElementsAre(0, 1, 3));
  EXPECT_THAT(path(of({{0, 1}, {1, 3}, {0, 2, 0, 2}, {2, 3, 0, 2}}), 0, 3), ElementsAre(0, 2, 3));
  EXPECT_THAT(path(of({{0, 1, 0, 9}, {1, 3}, {0, 2, 0, 2}, {2, 3, 0, 2}}), 0, 3),
              ElementsAre(0, 2, 3));
  EXPECT_THAT(path(of({{0, 1}, {1, 2}, {2, 3}, {0, 3, 0, 0.1F}}), 0, 3), ElementsAre(0, 3));
}

TEST(GraphTest, AOneWayCableIsNotTravelledBack) {
  const Topology g =
      graph("g", 2, 2, Layout{.dims = {2}, .wraps = {}}, {wire()}, {{0, 1, 0, 1, true}});
  EXPECT_THAT(path(g, 0, 1), ElementsAre(0, 1));
  EXPECT_THAT(refusal([&] { route(g, 1, 0); }), HasSubstr("no path leads from host 1 to host 0"));
}

TEST(ClusterTest, AdaptersAreSharedOrBundledByTheHostsOfANode) {
  const Topology shared = cluster(star(8, wire()), 2, {wire(10), 2});
  EXPECT_EQ(route(shared, 0, 8).at(1), route(shared, 3, 8).at(1));
  EXPECT_NE(route(shared, 0, 8).at(1), route(shared, 4, 8).at(1));
  const Topology bundled = cluster(star(8, wire()), 2, {wire(10), 32});
  EXPECT_DOUBLE_EQ(bundled.capacity(route(bundled, 0, 8).front()), 40e9);
}

TEST(ClusterTest, NodesKeepTheirInnerLinksAndRoutesBetweenThemAreOfLevelOne) {
  const Topology topology = cluster(star(4, wire(100, 0)), 3, {wire(10, 3), 4});
  EXPECT_EQ(summarize(topology, route(topology, 4, 7)).level, 0);
  EXPECT_DOUBLE_EQ(topology.capacity(route(topology, 4, 7).front()), 100e9);
  const RouteSummary outside = summarize(topology, route(topology, 4, 8));
  EXPECT_EQ(outside.level, 1);
  EXPECT_DOUBLE_EQ(outside.latency.count(), 3e-6);
  EXPECT_THAT(topology.layout().dims, ElementsAre(4, 3));
}

TEST(ClusterTest, RailsMeetAtTheSpineOnlyWhenTheyMust) {
  const LinkClass w = wire(), spine = wire(2);
  const Topology rails = cluster(star(4, w), 3, {w, 4, true, spine, 6});
  EXPECT_EQ(route(rails, 1, 9).size(), 2U);
  ASSERT_EQ(route(rails, 1, 8).size(), 4U);
  EXPECT_DOUBLE_EQ(rails.capacity(route(rails, 1, 8)[1]), 12e9);
  const Topology free = cluster(star(4, w), 3, {w, 4, true});
  EXPECT_DOUBLE_EQ(free.capacity(route(free, 1, 8)[1]), 3e9);  // as much as the rail has below
}

TEST(CoresTest, CoresOfAChipShareItsLinks) {
  const Topology cores = chips_with_cores(torus({4}, {true}, {wire()}), 2, wire(9, 0));
  EXPECT_EQ(route(cores, 0, 2).at(1), route(cores, 1, 3).at(1));
  EXPECT_EQ(route(cores, 0, 1).size(), 2U);
  EXPECT_THAT(cores.layout().dims, ElementsAre(2, 4));
  EXPECT_THAT(cores.layout().wraps, ElementsAre(false, true));
}

TEST(NetworksTest, WhatWouldExceedMemoryIsRefusedBeforeItIsBuilt) {
  const LinkClass w = wire();
  const std::vector<LinkClass> one{w};
  const auto too_many = HasSubstr("links are too many; at most 33554432");
  EXPECT_THAT(refusal([&] { star(1 << 30, w); }), too_many);
  EXPECT_THAT(refusal([&] { fully_connected(1 << 20, w); }), too_many);
  EXPECT_THAT(refusal([&] { torus({1 << 20, 1 << 20}, {true, true}, one); }), too_many);
  EXPECT_THAT(refusal([&] { fat_tree({1 << 20, 1 << 20}, {9, 9}, {1, 1}, one); }), too_many);
  EXPECT_THAT(refusal([&] {
                dragonfly(9, 1 << 20, 1 << 20, 9, {1, w}, {1, w}, {1, w}, w);
              }),
              too_many);
  EXPECT_THAT(refusal([&] { cluster(star(8, w), 1 << 30, {w, 8}); }), too_many);
  EXPECT_THAT(refusal([&] { chips_with_cores(star(8, w), 1 << 30, w); }), too_many);
  EXPECT_THAT(refusal([&] {
                graph("g", 1 << 16, 1 << 16, Layout{.dims = {1 << 16}, .wraps = {}}, one, {});
              }),
              HasSubstr("too many for routes that are searched"));
}

TEST(NetworksTest, ImpossibleShapesAreRefused) {
  const std::vector<LinkClass> one{wire()};
  EXPECT_THAT(refusal([&] { star(0, wire()); }), HasSubstr("at least 1 host, not 0"));
  EXPECT_THAT(refusal([&] { torus({4, 4}, {true}, one); }), HasSubstr("as many wraps, not 1"));
  EXPECT_THAT(refusal([&] { torus({4, 0}, {true, true}, one); }), HasSubstr("at least 1 long"));
  EXPECT_THAT(refusal([&] {
                fat_tree({4}, {1, 2}, {1}, one);
              }),
              HasSubstr("an entry per level each, not 1, 2 and 1"));
  EXPECT_THAT(refusal([&] {
                cluster(star(2, wire()), 2, {wire(), 0});
              }),
              HasSubstr("at least 1 adapter, not 0"));
}

}  // namespace
}  // namespace collbench

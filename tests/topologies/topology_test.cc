#include "topologies/topology.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

#include "topologies/networks/networks.h"

namespace collbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(TopologyTest, CapacityIsLanesTimesNominalTimesEfficiency) {
  LinkClass w = wire(10);
  w.efficiency = 0.8;
  const Topology g = graph("g", 2, 2, Layout{.dims = {2}, .wraps = {}}, {w}, {{0, 1, 0, 3}});
  EXPECT_DOUBLE_EQ(g.capacity(route(g, 0, 1).front()), 24e9);
}

TEST(TopologyTest, ASlowHostSlowsItsLinksOnly) {
  const Topology star4 = star(4, wire());
  const std::vector<Host> hosts{2};
  const std::vector<double> factors{0.5};
  const Topology slow = star4.slowed(hosts, factors);
  EXPECT_DOUBLE_EQ(slow.capacity(route(slow, 2, 0)[0]), 0.5e9);
  EXPECT_DOUBLE_EQ(slow.capacity(route(slow, 0, 2)[1]), 0.5e9);
  EXPECT_DOUBLE_EQ(slow.capacity(route(slow, 2, 0)[1]), 1e9);
  EXPECT_DOUBLE_EQ(star4.capacity(route(star4, 2, 0)[0]), 1e9);
}

TEST(TopologyTest, NamesAreForPeople) {
  const Topology named = star(4, wire()).named("mine");
  EXPECT_EQ(named.name(), "mine");
  EXPECT_EQ(named.link_name(route(named, 3, 0).front()), "host 3 -> switch (wire)");
}

TEST(TopologyTest, LinksWithoutBandwidthOrWithTooMuchEfficiencyAreRefused) {
  LinkClass w = wire(0);
  EXPECT_THAT(refusal([&] { star(2, w); }), HasSubstr("link 'wire' needs a bandwidth above 0"));
  w = wire();
  w.efficiency = 1.5;
  EXPECT_THAT(refusal([&] { star(2, w); }), HasSubstr("must be in (0, 1], not 1.5"));
  w.efficiency = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal([&] { star(2, w); }), HasSubstr("must be in (0, 1], not nan"));
}

// 0 and 1 joined by a cable (links 0 and 1) and over the switch 2 (links 2 to 5), of 1 and 2 us.
Topology two_ways() {
  return graph("two", 2, 3, Layout{.dims = {2}, .wraps = {}}, {wire()},
               {{0, 1, 0, 1}, {0, 2, 0, 1}, {2, 1, 0, 1}});
}

TEST(TopologyTest, TheWidestOfSeveralWaysIsTheRoute) {
  const Topology spread = two_ways().with_ways(
      {{{0, 1}, {{.share = 0.25, .links = {0}}, {.share = 0.75, .links = {2, 4}}}}});
  EXPECT_THAT(route(spread, 0, 1), ElementsAre(2, 4));
  EXPECT_THAT(route(spread, 1, 0), ElementsAre(1));
  ASSERT_NE(spread.ways(0, 1), nullptr);
  EXPECT_EQ(spread.ways(1, 0), nullptr);
  EXPECT_EQ(summarize(spread, *spread.ways(0, 1)).latency, Seconds{2e-6});
  EXPECT_THAT(link_shares(*spread.ways(0, 1)),
              ElementsAre(Pair(0, 0.25), Pair(2, 0.75), Pair(4, 0.75)));
  EXPECT_TRUE(spread.named("other").with_latency(Seconds{0}).has_ways());
  EXPECT_FALSE(two_ways().has_ways());
}

TEST(TopologyTest, ALinkOfTwoWaysHasTheShareOfBoth) {
  EXPECT_THAT(link_shares(std::vector<Way>{{0.5, {3, 1}}, {0.25, {0, 1}}, {0.25, {7}}}),
              ElementsAre(Pair(0, 0.25), Pair(1, 0.75), Pair(3, 0.5), Pair(7, 0.25)));
}

TEST(TopologyTest, WaysThatLeadNowhereOrDoNotAddUpAreRefused) {
  const auto refused = [](const std::vector<Way>& ways) {
    return refusal([&] { two_ways().with_ways({{{0, 1}, ways}}); });
  };
  EXPECT_THAT(refused({{1, {4, 2}}}), HasSubstr("ways from host 0 to 1: one is not a path"));
  EXPECT_THAT(refused({{1, {99}}}), HasSubstr("one is not a path"));
  EXPECT_THAT(refused({{1, {2}}}), HasSubstr("one does not lead there"));
  EXPECT_THAT(refused({{0.5, {0}}, {0.4, {2, 4}}}), HasSubstr("shares add up to 0.9, not to 1"));
  EXPECT_THAT(refused({{1.5, {0}}, {-0.5, {2, 4}}}), HasSubstr("must be above 0, not -0.5"));
  EXPECT_THAT(refused({}), HasSubstr("shares add up to 0, not to 1"));
}

}  // namespace
}  // namespace collbench

#include "topologies/topology.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

#include "topologies/networks/networks.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

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

}  // namespace
}  // namespace collbench

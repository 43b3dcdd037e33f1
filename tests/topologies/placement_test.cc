#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

#include "topologies/machine.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PlacementTest, RowMajorIsTheOrderOfTheHosts) {
  EXPECT_THAT(place("row-major", 3, star(8, wire())), ElementsAre(0, 1, 2));
}

TEST(PlacementTest, SnakeStepsFromNeighbourToNeighbourThroughEveryHost) {
  for (const std::vector<int>& dims :
       {std::vector<int>{5}, {4, 3}, {3, 3, 3}, {2, 1, 4}, {4, 2, 3, 2}}) {
    const Topology mesh = torus(dims, std::vector<bool>(dims.size(), false), {wire()});
    const std::vector<Host> order = place("snake", mesh.hosts(), mesh);
    for (std::size_t i = 1; i < order.size(); ++i) {
      EXPECT_EQ(route(mesh, order[i - 1], order[i]).size(), 1U) << mesh.name() << " at " << i;
    }
    EXPECT_EQ(std::set<Host>(order.begin(), order.end()).size(), order.size()) << mesh.name();
  }
}

TEST(PlacementTest, RailTakesTheSameDeviceOfAllNodesFirst) {
  const Topology nodes = cluster(star(2, wire()), 3, {wire(), 2});
  EXPECT_THAT(place("rail", 6, nodes), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(place("rail", 4, nodes), ElementsAre(0, 2, 4, 1));
}

TEST(PlacementTest, AListIsTakenAsItIs) {
  EXPECT_THAT(place("3,1,0,2", 4, star(8, wire())), ElementsAre(3, 1, 0, 2));
  EXPECT_THAT(place("7", 1, star(8, wire())), ElementsAre(7));
}

TEST(PlacementTest, RefusalsSayWhatWouldFit) {
  const Topology topology = star(4, wire());
  const auto why = [&](const std::string& order, int ranks) {
    return refusal([&] { place(order, ranks, topology); });
  };
  EXPECT_THAT(why("row-major", 5), HasSubstr("5 ranks do not fit on star:4, which has 4 hosts"));
  EXPECT_THAT(why("snake", 4), HasSubstr("follows the axes of a torus or mesh; star:4 has none"));
  EXPECT_THAT(why("rail", 4), HasSubstr("needs a cluster"));
  EXPECT_THAT(why("snak", 4), HasSubstr("Did you mean 'snake'?"));
  EXPECT_THAT(why("0,1,1,2", 4), HasSubstr("host 1 appears twice"));
  EXPECT_THAT(why("0,1,4,2", 4), HasSubstr("'4' is not in star:4; hosts are 0 to 3"));
  EXPECT_THAT(why("0,1,", 3), HasSubstr("'' is not in"));
  EXPECT_THAT(why("0,1", 3), HasSubstr("names 2 hosts for 3 ranks"));
  EXPECT_THAT(why("", 3), HasSubstr("unknown placement ''"));
}

}  // namespace
}  // namespace collbench

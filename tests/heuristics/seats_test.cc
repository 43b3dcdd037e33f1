// Where the ranks of a cluster sit, and what is suggested to them there.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "heuristics/calibration/fit.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(HostsOfRanksTest, AreSpreadEvenlyOverTheNodesThatTheyNeed) {
  const Topology cluster = machine("cluster:3xdgx-h100").topology;
  const std::vector<Host> spread = hosts_of_ranks("row-major", 12, cluster);
  EXPECT_THAT(spread, ElementsAre(0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13));
  for (const int ranks : {1, 8, 9, 16, 23, 24}) {
    EXPECT_EQ(hosts_of_ranks("row-major", ranks, cluster), place("row-major", ranks, cluster));
  }
  EXPECT_EQ(hosts_of_ranks("rail", 12, cluster), place("rail", 12, cluster));
  EXPECT_EQ(words_on_seats(cluster, 12, 2),
            "12 workers are seated as 6 on each of 2 nodes, which have room for 8");
  EXPECT_EQ(words_on_seats(cluster, 9, 1),
            "9 workers fill nodes of 8 one after the other, with 1 on the last");
  for (const int ranks : {4, 8, 16}) EXPECT_EQ(words_on_seats(cluster, ranks, 1), "");
}

TEST(FitToNodesTest, ChannelsAndLevelsAreThoseOfTheRanks) {
  const Topology cluster = machine("cluster:2xdgx-h100").topology;
  const auto fitted = [&](const char* name, int ranks) {
    return to_string(fit_to_nodes(parse_algorithm_spec(name), cluster, ranks,
                                  nodes_of(cluster.layout(), ranks)));
  };
  EXPECT_EQ(fitted("ring:channels=6", 12), "ring:channels=6:node=6");
  EXPECT_EQ(fitted("hierarchical", 12), "hierarchical:dims=6x2");
  EXPECT_EQ(fitted("ring:channels=8", 16), "ring:channels=8:node=8");
  EXPECT_EQ(fitted("ring", 12), "ring");
}

TEST(WhyNotSeatedTest, SaysWhatToWriteInstead) {
  const auto why = [](const char* name, int ranks, int nodes) {
    return why_not_seated(machine(name, ranks), ranks, nodes);
  };
  EXPECT_THAT(why("dgx-h100", 4, 2), HasSubstr("is one node; 2 of them are cluster:2xdgx-h100"));
  EXPECT_THAT(why("roce-200g", 8, 2), HasSubstr("8 workers are 8 nodes there"));
  EXPECT_THAT(why("cluster:2xdgx-h100", 16, 1), HasSubstr("the machine has 2 nodes of 8"));
  EXPECT_EQ(why("dgx-h100", 4, 1), "");
  EXPECT_EQ(why("roce-200g", 8, 8), "");
  EXPECT_EQ(why("cluster:2xdgx-h100", 4, 2), "");
  EXPECT_EQ(why("gb200-nvl72", 8, 2), "") << "two hosts, which NVLink joins";
}

}  // namespace
}  // namespace collbench

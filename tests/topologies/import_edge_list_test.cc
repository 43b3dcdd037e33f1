// Lists of directed links: what they mean and what is refused, by line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

constexpr const char* header = "from,to,bandwidth_GBps,kind\n";

std::string refused(const std::string& links) {
  try {
    from_edge_list(header + links, "net.csv");
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(EdgeList, LinksGoOneWayAndParallelOnesAddUp) {
  const Machine read =
      from_edge_list(std::string("# a triangle that turns\n") + header +
                         "g0,g1,2.5,link\ng1,s_x,1,nic\ns_x,g0,4,nic\ng0,g1,3,link\n",
                     "dir/net.csv");
  EXPECT_EQ(read.summary, "a triangle that turns");
  EXPECT_EQ(read.topology.name(), "net");
  EXPECT_EQ(read.topology.hosts(), 2);
  ASSERT_EQ(read.topology.links().size(), 3);
  EXPECT_EQ(read.topology.capacity(0), 5.5e9);
  EXPECT_EQ(read.topology.link_name(1), "g1 -> s_x (nic)");
  std::vector<LinkId> route;
  read.topology.route(1, 0, route);
  EXPECT_EQ(route, (std::vector<LinkId>{1, 2}));
}

TEST(EdgeList, ParallelLinksOfOtherKindsStayApart) {
  const Topology read = from_edge_list(std::string(header) +
                                           "g0,g1,5, nic\ng0,g1,4,nvlink \ng0,g1,1,nic\n"
                                           "g1,g0,9,nvlink\n",
                                       "net.csv")
                            .topology;
  ASSERT_EQ(read.links().size(), 3);
  EXPECT_EQ(read.link_name(0), "g0 -> g1 (nic)");
  EXPECT_EQ(read.capacity(0), 6e9);
  EXPECT_EQ(read.link_class(0).level, 1);
  EXPECT_EQ(read.link_class(1).name, "nvlink");
  EXPECT_EQ(read.link_class(1).level, 0);
  std::vector<LinkId> route;
  read.route(0, 1, route);
  EXPECT_EQ(route, std::vector<LinkId>{0});
}

TEST(EdgeList, RanksTakeDifferentOnesOfEqualRoutes) {
  std::string links;
  for (int r = 0; r < 4; ++r) {
    for (const char* spine : {"s_0", "s_1"}) {
      links += "g" + std::to_string(r) + "," + spine + ",1,nic\n";
      links += std::string(spine) + ",g" + std::to_string(r) + ",1,nic\n";
    }
  }
  const Topology net = from_edge_list(header + links, "net.csv").topology;
  std::vector<int> through(2, 0);
  std::vector<LinkId> route;
  for (Host from = 0; from < 4; ++from) {
    for (Host to = 0; to < 4; ++to) {
      if (from == to) continue;
      net.route(from, to, route);
      ASSERT_EQ(route.size(), 2);
      ++through[net.links()[route[0]].to - 4];
    }
  }
  EXPECT_EQ(through, (std::vector<int>{6, 6}));
}

TEST(EdgeList, IsRecognisedByItsColumns) {
  EXPECT_EQ(detect_topology_format("# note\nfrom,to,bandwidth_GBps,kind\n", "x"),
            TopologyFormat::edges);
}

TEST(EdgeList, WhatIsWrongIsNamedByItsLine) {
  EXPECT_EQ(refused("g0,g1,1,a\ng1,g0,0,a\n"),
            "net.csv:3: bandwidth_GBps must be a number from 1e-9 to 1e9, not '0'");
  EXPECT_THAT(refused("g0,g1,1\n"), HasSubstr("net.csv:2: 4 columns are needed, not 3"));
  EXPECT_THAT(refused("g0,x1,1,a\n"), HasSubstr("'x1' is neither a rank (g0, g1, ...) nor"));
  EXPECT_THAT(refused("g0,g0,1,a\n"), HasSubstr("a link joins g0 with itself"));
  EXPECT_THAT(refused("g0,g2,1,a\ng2,g0,1,a\n"), HasSubstr("numbered from g0 to g1 without gaps"));
  EXPECT_THAT(refused("s_a,s_b,1,a\n"), HasSubstr("no rank in it"));
  EXPECT_THAT(refused(""), HasSubstr("no link in it"));
  EXPECT_THAT(refused("g0,g1,1,a\n"), HasSubstr("no path leads from g1 to g0"));
  EXPECT_THROW(from_edge_list("from,to,rate\n", "net.csv"), InvalidArgument);
}

}  // namespace
}  // namespace collbench

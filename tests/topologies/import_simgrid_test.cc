// SimGrid platforms: the routes are those of SimGrid 3.32.
#include "tests/topologies/route_names.h"

#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Topology topology_of_platform(const std::string& text) {
  return from_simgrid_xml(text, "p.xml").topology;
}
std::string platform(const std::string& inside) {
  return "<?xml version='1.0'?>\n<platform version=\"4.1\">\n" + inside + "</platform>\n";
}
std::string zone(const std::string& routing, const std::string& inside) {
  return platform("<zone id=\"z\" routing=\"" + routing + "\">\n" + inside + "</zone>\n");
}
std::string cluster_element(const std::string& id, const std::string& more) {
  return "<cluster id=\"" + id + "\" prefix=\"" + id +
         "-\" suffix=\"\" speed=\"1Gf\" bw=\"125MBps\" lat=\"50us\" " + more + "/>\n";
}
const char* const three_hosts =
    "<host id=\"a\" speed=\"1f\"/><host id=\"b\" speed=\"1f\"/><host id=\"c\" speed=\"1f\"/>\n";

const char* const split_link =
    "<link id=\"l\" bandwidth=\"1Gbps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>\n";

std::vector<LinkId> links(const Topology& topology, Host from, Host to) {
  std::vector<LinkId> route;
  topology.route(from, to, route);
  return route;
}

TEST(ImportSimgrid, AClusterIsAStarWithAnUpAndADownLinkPerHost) {
  const Topology topology = topology_of_platform(platform(cluster_element("c", "radical=\"0-3\"")));
  EXPECT_EQ(topology.hosts(), 4);
  EXPECT_EQ(topology.vertex_name(3), "c-3");
  EXPECT_EQ(route_names(topology, 0, 3), "c-0 > c > c-3");
  EXPECT_NEAR(route_us(topology, 0, 3), 100, 1e-9);
  EXPECT_NE(links(topology, 0, 3), links(topology, 3, 0));
}

TEST(ImportSimgrid, ABackboneIsPassedOnce) {
  const Topology topology = topology_of_platform(
      platform(cluster_element("c", "radical=\"0-3\" bb_bw=\"2GBps\" bb_lat=\"500us\"")));
  EXPECT_EQ(links(topology, 0, 3).size(), 3U);
  EXPECT_NEAR(route_us(topology, 0, 3), 600, 1e-9);
}

TEST(ImportSimgrid, LimitersStandAtBothEnds) {
  const Topology topology = topology_of_platform(
      platform(cluster_element("c", "radical=\"0-1\" limiter_link=\"1MBps\"")));
  EXPECT_EQ(links(topology, 0, 1).size(), 4U);
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 1), 1e-3);
}

TEST(ImportSimgrid, ClustersKnowTheirShape) {
  const Topology torus = topology_of_platform(
      platform(cluster_element("t", "radical=\"0-7\" topology=\"TORUS\" topo_parameters=\"4,2\"")));
  EXPECT_EQ(torus.layout().kind, Layout::Kind::grid);
  EXPECT_THAT(torus.layout().dims, testing::ElementsAre(4, 2));
  EXPECT_EQ(route_names(torus, 0, 3), "t-0 > t-3");
  const Topology tree = topology_of_platform(platform(cluster_element(
      "f", "radical=\"0-15\" topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,1\"")));
  EXPECT_EQ(links(tree, 0, 1).size(), 2U);
  EXPECT_EQ(links(tree, 0, 15).size(), 4U);
  const Topology fly = topology_of_platform(platform(cluster_element(
      "d", "radical=\"0-11\" topology=\"DRAGONFLY\" topo_parameters=\"2,1;1,1;2,1;3\"")));
  EXPECT_EQ(links(fly, 0, 1).size(), 2U);
}

TEST(ImportSimgrid, ASharedLinkServesBothDirections) {
  const Topology topology =
      topology_of_platform(zone("Full",
                                "<host id=\"a\" speed=\"1f\"/><host id=\"b\" speed=\"1f\"/>\n"
                                "<link id=\"l\" bandwidth=\"1Gbps\" latency=\"1ms\"/>\n"
                                "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>\n"));
  EXPECT_EQ(links(topology, 0, 1), links(topology, 1, 0));
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 1), 0.125);
}

TEST(ImportSimgrid, ASplitDuplexLinkHasADirectionThatTheWayBackTurns) {
  const Topology topology = topology_of_platform(
      zone("Full",
           "<host id=\"a\" speed=\"1f\"/><host id=\"b\" speed=\"1f\"/>\n"
           "<link id=\"l\" bandwidth=\"1Gbps\" sharing_policy=\"SPLITDUPLEX\"/>\n"
           "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\" direction=\"UP\"/></route>\n"));
  EXPECT_THAT(links(topology, 0, 1), testing::ElementsAre(0));
  EXPECT_THAT(links(topology, 1, 0), testing::ElementsAre(1));
}

TEST(ImportSimgrid, AHalfThatARouteNamesIsItsWayBackToo) {
  const std::string hosts = "<host id=\"a\" speed=\"1f\"/><host id=\"b\" speed=\"1f\"/>\n";
  const Topology topology = topology_of_platform(
      zone("Full", hosts + "<link id=\"l\" bandwidth=\"1Gbps\" "
                           "sharing_policy=\"SPLITDUPLEX\"/>\n"
                           "<route src=\"a\" dst=\"b\"><link_ctn id=\"l_DOWN\"/>"
                           "<link_ctn id=\"l_UP\"/></route>\n"));
  EXPECT_THAT(links(topology, 0, 1), testing::ElementsAre(1, 0));
  EXPECT_THAT(links(topology, 1, 0), testing::ElementsAre(0, 1));
}

TEST(ImportSimgrid, ABypassLeadsOneWay) {
  const Topology topology = topology_of_platform(
      zone("Full",
           "<host id=\"a\" speed=\"1f\"/><host id=\"b\" speed=\"1f\"/>\n"
           "<link id=\"slow\" bandwidth=\"1GBps\"/><link id=\"fast\" bandwidth=\"10GBps\"/>\n"
           "<route src=\"a\" dst=\"b\"><link_ctn id=\"slow\"/></route>\n"
           "<bypassRoute src=\"a\" dst=\"b\"><link_ctn id=\"fast\"/></bypassRoute>\n"));
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 1), 10);
  EXPECT_DOUBLE_EQ(route_GBps(topology, 1, 0), 1);
}

TEST(ImportSimgrid, AFatpipeLimitsEveryPairOfHostsByItself) {
  const Topology topology = topology_of_platform(
      zone("Full", std::string(three_hosts) +
                       "<link id=\"l\" bandwidth=\"1Gbps\" sharing_policy=\"FATPIPE\"/>\n"
                       "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>\n"
                       "<route src=\"b\" dst=\"c\"><link_ctn id=\"l\"/></route>\n"
                       "<route src=\"a\" dst=\"c\"><link_ctn id=\"l\"/></route>\n"));
  EXPECT_NE(links(topology, 0, 2), links(topology, 1, 2));
  EXPECT_NE(links(topology, 0, 2), links(topology, 0, 1));
  EXPECT_NE(links(topology, 0, 2), links(topology, 2, 0));
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 1), 0.125);
}

TEST(ImportSimgrid, AFatpipeFromAHostToItselfIsNotMultiplied) {
  const Topology topology = topology_of_platform(
      zone("Full", std::string(three_hosts) +
                       "<link id=\"l\" bandwidth=\"1Gbps\"/>\n"
                       "<link id=\"own\" bandwidth=\"9Gbps\" sharing_policy=\"FATPIPE\"/>\n"
                       "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>\n"
                       "<route src=\"b\" dst=\"c\"><link_ctn id=\"l\"/></route>\n"
                       "<route src=\"a\" dst=\"c\"><link_ctn id=\"l\"/></route>\n"
                       "<route src=\"a\" dst=\"a\"><link_ctn id=\"own\"/></route>\n"));
  EXPECT_EQ(topology.links().size(), 2U);
}

TEST(ImportSimgrid, OneWayRoutesAreOneWay) {
  const std::string text =
      zone("Full",
           "<host id=\"a\" speed=\"1f\"/><host id=\"b\" speed=\"1f\"/>\n"
           "<link id=\"l\" bandwidth=\"1Gbps\"/>\n"
           "<route src=\"a\" dst=\"b\" symmetrical=\"NO\"><link_ctn id=\"l\"/></route>\n");
  EXPECT_EQ(refusal([&] { topology_of_platform(text); }),
            "p.xml: topology p: no path leads from b to a");
}

TEST(ImportSimgrid, FloydAndDijkstraFindTheFewestLinks) {
  for (const char* routing : {"Floyd", "Dijkstra", "DijkstraCache"}) {
    const Topology topology = topology_of_platform(
        zone(routing,
             "<host id=\"a\" speed=\"1f\"/><host id=\"b\" speed=\"1f\"/><router id=\"r\"/>\n"
             "<link id=\"x\" bandwidth=\"1Gbps\"/><link id=\"y\" bandwidth=\"2Gbps\"/>\n"
             "<link id=\"far\" bandwidth=\"9Gbps\"/>\n"
             "<route src=\"a\" dst=\"r\"><link_ctn id=\"x\"/></route>\n"
             "<route src=\"r\" dst=\"b\"><link_ctn id=\"y\"/></route>\n"
             "<route src=\"a\" dst=\"b\"><link_ctn id=\"far\"/><link_ctn id=\"far\"/>"
             "<link_ctn id=\"far\"/></route>\n"));
    EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 1), 0.125) << routing;
    EXPECT_EQ(links(topology, 0, 1).size(), 2U) << routing;
  }
}

TEST(ImportSimgrid, ZonesAreLeftAndEnteredAtTheirGateways) {
  const std::string inside =
      cluster_element("x", "radical=\"0-1\"") + cluster_element("y", "radical=\"0-1\"") +
      "<link id=\"wan\" bandwidth=\"1MBps\" latency=\"10ms\"/>\n"
      "<zoneRoute src=\"x\" dst=\"y\" gw_src=\"x-x_router\" gw_dst=\"y-y_router\">"
      "<link_ctn id=\"wan\"/></zoneRoute>\n";
  const Topology topology = topology_of_platform(zone("Full", inside));
  EXPECT_EQ(links(topology, 0, 2).size(), 3U);
  EXPECT_NEAR(route_us(topology, 0, 2), 10'100, 1e-6);
  EXPECT_EQ(links(topology, 0, 1).size(), 2U);
}

TEST(ImportSimgrid, CabinetsAndBackbonesMakeAClusterZone) {
  const Topology topology = topology_of_platform(
      zone("Cluster",
           "<cabinet id=\"c\" prefix=\"n-\" suffix=\"\" radical=\"1-2\" speed=\"1f\" "
           "bw=\"1Gbps\" lat=\"1us\"/>\n"
           "<host id=\"h\" speed=\"1f\"/><link id=\"l\" bandwidth=\"2Gbps\" "
           "sharing_policy=\"SPLITDUPLEX\"/>\n"
           "<host_link id=\"h\" up=\"l_UP\" down=\"l_DOWN\"/>\n"
           "<backbone id=\"b\" bandwidth=\"4Gbps\" latency=\"5us\"/>\n"));
  EXPECT_EQ(topology.hosts(), 3);
  EXPECT_EQ(links(topology, 0, 2).size(), 3U);
  EXPECT_NEAR(route_us(topology, 0, 1), 7, 1e-9);
}

TEST(ImportSimgrid, ReadsEveryUnit) {
  const auto rate = [](const std::string& value) {
    return route_GBps(topology_of_platform(zone("Full",
                                                "<host id=\"a\" speed=\"1f\"/><host id=\"b\" "
                                                "speed=\"1f\"/><link id=\"l\" bandwidth=\"" +
                                                    value +
                                                    "\"/><route src=\"a\" dst=\"b\"><link_ctn "
                                                    "id=\"l\"/></route>")),
                      0, 1) *
           1e9;
  };
  EXPECT_DOUBLE_EQ(rate("1000"), 1000);
  EXPECT_DOUBLE_EQ(rate("8kbps"), 1000);
  EXPECT_DOUBLE_EQ(rate("1.5MBps"), 1.5e6);
  EXPECT_DOUBLE_EQ(rate("1KiBps"), 1024);
  EXPECT_DOUBLE_EQ(rate("8Gibps"), 1024.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(rate("1e-1TBps"), 1e11);
  EXPECT_THAT(refusal([&] { rate("5 furlongs"); }), HasSubstr("must be a rate above 0"));
  EXPECT_THAT(refusal([&] { rate("0Bps"); }), HasSubstr("must be a rate above 0"));
}

TEST(ImportSimgrid, WhatIsWrongIsNamedWithItsLine) {
  const auto why = [](const std::string& text) {
    return refusal([&] { topology_of_platform(text); });
  };
  EXPECT_THAT(why(zone("Fulll", "")),
              StartsWith("p.xml:3: <zone>: unknown routing 'Fulll'. Did you mean 'Full'?"));
  EXPECT_THAT(why(zone("Full", std::string(three_hosts) +
                                   "<route src=\"a\" dst=\"d\"><link_ctn id=\"l\"/></route>")),
              StartsWith("p.xml:5: <route>: dst=\"d\": no host"));
  EXPECT_THAT(why(zone("Full", std::string(three_hosts) +
                                   "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>")),
              StartsWith("p.xml:5: <link_ctn>: no link 'l'"));
  EXPECT_THAT(why(zone("Full", "<host id=\"a\"/><host id=\"a\"/>")), HasSubstr("'a' is taken"));
  EXPECT_THAT(why(platform(cluster_element("c", "radical=\"3-1\""))),
              HasSubstr("radical: '3-1' ends before it begins"));
  EXPECT_THAT(why(platform(cluster_element("c", "radical=\"0-9999999\""))), HasSubstr("radical"));
  EXPECT_THAT(why(platform(cluster_element("c",
                                           "radical=\"0-3\" topology=\"TORUS\" "
                                           "topo_parameters=\"3,3\""))),
              HasSubstr("topo_parameters make 9 hosts, radical 4"));
  EXPECT_THAT(why(zone("Full", std::string(three_hosts) +
                                   "<link id=\"l\" bandwidth=\"1Gbps\" latency=\"1us\" "
                                   "sharing_policy=\"TREE\"/>")),
              StartsWith("p.xml:5: <link>: sharing_policy=\"TREE\" is not supported"));
  EXPECT_THAT(why(zone("Full", std::string(three_hosts) + split_link +
                                   "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>")),
              HasSubstr("link 'l' is SPLITDUPLEX: direction must be UP or DOWN"));
  EXPECT_THAT(why(zone("Full", std::string(three_hosts) + split_link + split_link)),
              HasSubstr("a second link 'l'"));
  EXPECT_THAT(why(zone("Full", "<include file=\"x\"/>")),
              StartsWith("p.xml:4: <include>: is not supported"));
  EXPECT_THAT(why(zone("Full", "<cabinet id=\"c\"/>")), HasSubstr("routing=\"Cluster\""));
  EXPECT_THAT(why(platform("")), HasSubstr("no host in it"));
  EXPECT_THAT(why("<x/>"), HasSubstr("starts with <platform>"));
}

TEST(ImportSimgrid, WhatAClusterCannotBeIsNamed) {
  const auto why = [](const std::string& more) {
    return refusal(
        [&] { topology_of_platform(platform(cluster_element("c", "radical=\"0-3\" " + more))); });
  };
  const auto shaped = [&](const std::string& kind, const std::string& parameters) {
    return why("topology=\"" + kind + "\" topo_parameters=\"" + parameters + "\"");
  };
  EXPECT_THAT(shaped("HYPERX", "2,2"), HasSubstr("topology=\"HYPERX\" is unknown"));
  EXPECT_THAT(shaped("TORUS", "2,two"),
              HasSubstr("'two' in topo_parameters must be a whole number"));
  EXPECT_THAT(shaped("TORUS", "2,0"), HasSubstr("'0' in topo_parameters must be a whole number"));
  EXPECT_THAT(shaped("TORUS", "1000,1000,1000"), HasSubstr("far larger than the radical"));
  EXPECT_THAT(shaped("FAT_TREE", "2;2,2;1,2"), HasSubstr("must be LEVELS;DOWN,..;UP,..;CABLES,.."));
  EXPECT_THAT(shaped("FAT_TREE", "2;2;1,2;1,1"), HasSubstr("'2' must have 2 numbers"));
  EXPECT_THAT(shaped("DRAGONFLY", "2,1;2,1"), HasSubstr("must be GROUPS,BLUE;CHASSIS,BLACK;"));
  const std::string square = "topology=\"TORUS\" topo_parameters=\"2,2\" ";
  EXPECT_THAT(why(square + "sharing_policy=\"SHARED\""),
              HasSubstr("sharing_policy SHARED is supported in FLAT clusters only"));
  EXPECT_THAT(why(square + "limiter_link=\"1GBps\""),
              HasSubstr("limiter_link is supported in FLAT clusters only"));
  EXPECT_THAT(why("sharing_policy=\"FATPIPE\""), HasSubstr("FATPIPE is not supported"));
}

}  // namespace
}  // namespace collbench

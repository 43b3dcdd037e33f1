// Pictures and translations say what the topology says.
#include "topologies/draw/draw.h"

#include <regex>

#include "tests/core/flipped_bits.h"
#include "tests/topologies/route_names.h"

#include "topologies/draw/outline.h"
#include "topologies/import/import_topology.h"
#include "topologies/import/xml.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

using testing::HasSubstr;

LinkClass named_link(const std::string& name, double GBps = 10, double efficiency = 0.8) {
  LinkClass made;
  made.name = name;
  made.nominal = {GBps * 1e9};
  made.efficiency = efficiency;
  made.latency = Seconds{1.3e-6};
  made.source = "a test";
  return made;
}

std::vector<Topology> samples() {
  return {star(5, named_link("nic")),
          fully_connected(4, named_link("mesh")),
          torus({4, 3}, {true, false}, {named_link("x"), named_link("y", 20)}),
          torus({3, 3, 3, 2}, {true, true, true, false}, {named_link("x")}),
          fat_tree({4, 4}, {1, 2}, {1, 1}, {named_link("leaf"), named_link("spine")}),
          torus({32, 32}, {true, true}, {named_link("ici")}),
          cluster(star(8, named_link("nvlink", 450)), 40, {.adapter = named_link("nic", 50)})};
}

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(Draw, ManyHostsAreDrawnAsFewThatCountAll) {
  for (const Topology& topology : samples()) {
    const int most = 16;
    const Outline picture = outline(topology, most);
    int hosts = 0;
    int host_shapes = 0;
    int switches = 0;
    for (const DrawnShape& shape : picture.shapes) {
      (shape.is_host ? hosts : switches) += shape.members;
      host_shapes += shape.is_host ? 1 : 0;
    }
    EXPECT_LE(host_shapes, most) << topology.name();
    EXPECT_EQ(hosts, topology.hosts()) << topology.name();
    EXPECT_EQ(switches, topology.vertices() - topology.hosts()) << topology.name();
  }
}

TEST(Draw, SwitchesAreOneIfTheSameLinksJoinThemToTheSameShapes) {
  const Topology nodes =
      cluster(star(8, named_link("nvlink", 450)), 40, {.adapter = named_link("nic", 50)});
  const Outline picture = outline(nodes, 20);
  EXPECT_EQ(picture.blocks, (std::vector<int>{1, 20}));
  // Of each pair of nodes the hosts, their switches and their adapters, and one fabric.
  EXPECT_EQ(picture.shapes.size(), 20U + 20U + 20U + 1U);
  int cables = 0;
  for (const DrawnLine& line : picture.lines) cables += line.cables;
  EXPECT_EQ(cables, 320 + 320 + 40);
}

TEST(Draw, LinesLeadOneWayWhereLinksDo) {
  const Topology path = graph("path", 3, 3, {Layout::Kind::flat, {3}, {}}, {named_link("a")},
                              {{0, 1, 0, 1, false}, {1, 2, 0, 1, true}, {2, 0, 0, 1, true}});
  const std::string dot = to_dot(path);
  EXPECT_THAT(dot, HasSubstr("v0 -> v1 [color=\"#0072B2\""));
  EXPECT_THAT(dot, HasSubstr("host 0 - host 1: a, 10 GB/s\", dir=none"));
  EXPECT_THAT(dot, HasSubstr("host 2 to host 0: a, 10 GB/s\"];"));
  EXPECT_EQ(count(dot, "dir=none"), 1);
}

TEST(Draw, TheLegendNamesTheRatesOfEveryClass) {
  const std::string dot = to_dot(torus({4, 3}, {true, false}, {named_link("x"), named_link("y")}));
  EXPECT_THAT(dot, HasSubstr("x: 10 GB/s each way, 80 % reached, 1.3 us; 24 links"));
  EXPECT_EQ(count(dot, "<font color="), 2);
}

TEST(Draw, CablesThatCloseTheRingOfAGridAreLooseEndsThatNameTheOther) {
  const std::string dot = to_dot(torus({4, 3}, {true, false}, {named_link("x"), named_link("y")}));
  EXPECT_EQ(count(dot, "shape=ellipse"), 12);
  EXPECT_EQ(count(dot, "shape=plaintext"), 2 * 3);
  EXPECT_EQ(count(dot, "dir=none"), 3 * 3 + 4 * 2 + 2 * 3);
  EXPECT_THAT(dot, HasSubstr("e0 [label=\"3\""));
}

TEST(Draw, HostsWithoutSwitchesHavePlacesOnACircle) {
  const std::string dot = to_dot(fully_connected(64, named_link("cable")));
  EXPECT_THAT(dot, HasSubstr("layout=neato"));
  EXPECT_EQ(count(dot, "pos=\""), 64);
  EXPECT_THAT(dot, HasSubstr("pos=\"0.00,6.11!\""));
}

TEST(Draw, NamesThatGraphvizReservesAreEscaped) {
  const std::string dot = to_dot(star(2, named_link("a<b & \"c\\")).named("<x>"));
  EXPECT_THAT(dot, HasSubstr("a<b &amp; \\\"c\\\\, 10 GB/s"));
  EXPECT_THAT(dot, HasSubstr("&lt;x&gt;: 2 hosts, 1 switch"));
}

TEST(Draw, GraphvizHasEachCableOnce) {
  const std::string dot = to_dot(star(4, named_link("nic")));
  EXPECT_EQ(count(dot, "dir=none"), 4);
  EXPECT_EQ(count(dot, "shape=ellipse"), 4);
  EXPECT_THAT(refusal([] {
                to_dot(torus({80, 80}, {true, true}, {named_link("x")}));
              }),
              HasSubstr("too many for Graphviz"));
}

void expect_same_routes(const Topology& a, const Topology& b) {
  ASSERT_EQ(a.hosts(), b.hosts());
  std::vector<LinkId> x;
  std::vector<LinkId> y;
  for (Host from = 0; from < a.hosts(); ++from) {
    for (Host to = 0; to < a.hosts(); ++to) {
      a.route(from, to, x);
      b.route(from, to, y);
      ASSERT_EQ(x.size(), y.size()) << a.name() << ' ' << from << ' ' << to;
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_DOUBLE_EQ(a.capacity(x[i]), b.capacity(y[i])) << a.name();
        EXPECT_EQ(a.link_class(x[i]).latency, b.link_class(y[i]).latency) << a.name();
      }
    }
  }
}

TEST(Export, SimgridReadsBackTheSameRoutes) {
  for (const Topology& topology : samples()) {
    if (topology.hosts() > 100) continue;
    expect_same_routes(topology,
                       from_simgrid_xml(to_simgrid_xml({topology, {}, "", ""}), "x.xml").topology);
  }
  EXPECT_THAT(refusal([] {
                to_simgrid_xml({torus({32, 32}, {true, true}, {named_link("x")}), {}, "", ""});
              }),
              HasSubstr("at most 512"));
  Costs costs;
  costs.reduction_rate = Bandwidth{1e9};
  costs.message_gap = {Seconds{1e-6}};
  costs.protocols = {{"ll", 2, {}, {}, ""}};
  EXPECT_THAT(to_simgrid_xml({star(2, named_link("x")), costs, "", ""}),
              HasSubstr("that are not in here: reduction_rate, message_gap, protocol ll -->"));
}

TEST(Export, TomlReadsBackTheSameRoutesRatesAndSources) {
  for (const Topology& topology :
       {star(5, named_link("nic")), fully_connected(4, named_link("mesh")),
        torus({4, 3}, {true, false}, {named_link("x"), named_link("y", 20)}),
        torus({5, 3}, {true, true}, {named_link("x")}).named("five by three"),
        cluster(star(4, named_link("nvlink")), 3,
                {.adapter = named_link("nic"), .adapters_per_node = 4}),
        chips_with_cores(torus({2}, {false}, {named_link("x")}), 2, named_link("on"))}) {
    const Machine machine{topology, {}, "a summary", "a source"};
    const Machine again = import_topology(to_toml(machine), "x.toml", TopologyFormat::toml);
    expect_same_routes(topology, again.topology);
    EXPECT_EQ(again.summary, "a summary");
    EXPECT_EQ(again.topology.layout().kind, topology.layout().kind);
    EXPECT_EQ(again.topology.layout().dims, topology.layout().dims);
    EXPECT_EQ(again.topology.layout().wraps, topology.layout().wraps);
    for (const LinkClass& c : again.topology.classes()) EXPECT_EQ(c.source, "a test");
  }
}

TEST(Export, ADamagedTomlIsRefused) {
  const std::string text = to_toml({star(3, named_link("nic")), {}, "a summary", "a source"});
  for_each_flipped_bit(
      text, text.find('\n') + 1, 1, [](const std::string& damaged, std::size_t at) {
        EXPECT_THROW(import_topology(damaged, "x.toml", TopologyFormat::toml), InvalidArgument)
            << "byte " << at;
      });
}

TEST(Export, TomlKeepsEveryCost) {
  Costs costs;
  costs.message_latency = {{Bytes{0}, Seconds{1e-6}}, {Bytes{4096}, Seconds{2.7e-6}}};
  costs.wire_factor = 1.05;
  costs.message_cap = {5e9};
  costs.reduction_rate = {1e11};
  costs.per_collective = Seconds{6.6e-6};
  costs.protocols = {{"LL", 2, {Seconds{6e-7}, Seconds{2.7e-6}}, {Bandwidth{3e9}, {}}, "s"}};
  costs.message_gap = {Seconds{1e-7}, Seconds{2e-6}};
  costs.protocols[0].message_gap = {Seconds{0}, Seconds{1e-6}};
  costs.in_network = InNetwork{"nvls", Seconds{1e-6}, {4e11}, 8, "t"};
  costs.gpus = Gpus{gpu_generations()[2], adapter_networks()[1], "arm", 4, true, "t"};
  costs.gpus->network.hop_ll = Seconds{7e-6};
  costs.gpus->network.ll_share = 0.01;
  costs.gpus->network.short_ring_share = 0.02;
  const Machine machine{star(2, named_link("nic")), costs, "s", "t"};
  const Costs again = import_topology(to_toml(machine), "x.toml", TopologyFormat::toml).costs;
  ASSERT_EQ(again.message_latency.size(), 2U);
  EXPECT_EQ(again.message_latency[1].from_bytes, Bytes{4096});
  EXPECT_EQ(again.message_latency[1].latency, costs.message_latency[1].latency);
  EXPECT_EQ(again.wire_factor, 1.05);
  EXPECT_EQ(again.message_cap, costs.message_cap);
  EXPECT_EQ(again.reduction_rate, costs.reduction_rate);
  EXPECT_EQ(again.per_collective, costs.per_collective);
  ASSERT_EQ(again.protocols.size(), 1U);
  EXPECT_EQ(again.protocols[0].wire_factor, 2);
  EXPECT_EQ(again.protocols[0].message_latency, costs.protocols[0].message_latency);
  EXPECT_EQ(again.protocols[0].message_cap, costs.protocols[0].message_cap);
  EXPECT_EQ(again.message_gap, costs.message_gap);
  EXPECT_EQ(again.protocols[0].message_gap, costs.protocols[0].message_gap);
  ASSERT_TRUE(again.in_network);
  EXPECT_EQ(again.in_network->rate, costs.in_network->rate);
  EXPECT_EQ(again.in_network->max_ranks, 8);
  ASSERT_TRUE(again.gpus);
  EXPECT_EQ(again.gpus->generation.name, costs.gpus->generation.name);
  EXPECT_EQ(again.gpus->network.name, costs.gpus->network.name);
  EXPECT_EQ(again.gpus->network.hop_ll, Seconds{7e-6});
  EXPECT_EQ(again.gpus->network.ll_share, 0.01);
  EXPECT_EQ(again.gpus->network.short_ring_share, 0.02);
  EXPECT_EQ(again.gpus->per_host, 4);
  EXPECT_TRUE(again.gpus->sharp);
  EXPECT_EQ(again.gpus->cpu, "arm");
}

TEST(Export, TomlRefusesWhatItCannotSay) {
  // Two planes of equal cables: the fat tree spreads over both, a graph's shortest path does not.
  const Topology tree = fat_tree({4, 4}, {1, 2}, {1, 1}, {named_link("leaf"), named_link("spine")});
  EXPECT_THAT(refusal([&] { to_toml({tree, {}, "s", "t"}); }), HasSubstr("convert it to simgrid"));
  // What only every other host has differently is found where not all pairs are compared.
  const Topology large =
      fat_tree({16, 64}, {1, 2}, {1, 1}, {named_link("leaf"), named_link("spine")});
  EXPECT_THAT(refusal([&] { to_toml({large, {}, "s", "t"}); }), HasSubstr("convert it to simgrid"));
  const Topology ring = torus({1024}, {true}, {named_link("x")}, Ties::alternate);
  EXPECT_THAT(refusal([&] { to_toml({ring, {}, "s", "t"}); }), HasSubstr("convert it to simgrid"));
  const Machine shared = from_simgrid_xml(
      "<platform><cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" speed=\"1f\" "
      "bw=\"1Gbps\" lat=\"1us\" bb_bw=\"2Gbps\"/></platform>",
      "x.xml");
  EXPECT_THAT(refusal([&] { to_toml(shared); }), HasSubstr("has no ends"));
}

}  // namespace
}  // namespace collbench

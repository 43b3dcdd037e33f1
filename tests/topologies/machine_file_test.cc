#include "topologies/machine_file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

namespace collbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Lines 1 to 13: a file with one link class; the structure follows from line 14 on.
const std::string head = R"(summary = "a machine"
source = "a test"

[link.fast]
bandwidth = "100 GBps"
efficiency = 0.5
latency = "1 us"
source = "a test"
[link.slow]
bandwidth = "80 Gbps"
latency = "3 us"
level = 1
source = "a test"
)";
const std::string four_on_a_star = R"([structure]
kind = "star"
hosts = 4
link = "fast"
source = "a test"
)";

Machine read(const std::string& text, const std::string& lengths = "") {
  return machine_from_toml(text, "m.toml", {.lengths = lengths}).machine;
}
std::string why(const std::string& text) {
  return refusal([&] { read(text); });
}
// `file` with its first `what` replaced.
std::string with(std::string file, const std::string& what, const std::string& by) {
  const std::size_t at = file.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return file.replace(at, what.size(), by);
}
std::string structure(const std::string& text) {
  return head + "[structure]\nsource = \"a test\"\n" + text;
}

TEST(MachineFileTest, LinksHaveNominalRateEfficiencyLatencyAndLevel) {
  const Machine m = read(head + four_on_a_star);
  EXPECT_EQ(m.summary, "a machine");
  EXPECT_DOUBLE_EQ(m.topology.capacity(0), 50e9);
  EXPECT_EQ(m.topology.link_class(0).nominal, Bandwidth{100e9});
  EXPECT_EQ(m.topology.link_class(0).source, "a test");
  const Machine slow = read(with(head + four_on_a_star, "link = \"fast\"", "link = \"slow\""));
  EXPECT_EQ(slow.topology.link_class(0).level, 1);
}

TEST(MachineFileTest, AMachineIsLikeAnotherButForWhatItSays) {
  const std::string own = "summary = \"a machine\"\nsource = \"a test\"\n";
  const DescribedMachine same = machine_from_toml(own + "like = \"dgx-h100\"\n", "m.toml");
  EXPECT_EQ(same.machine.summary, "a machine");
  EXPECT_EQ(same.machine.topology.hosts(), 8);
  EXPECT_EQ(same.machine.costs.protocols.size(), 3U);
  EXPECT_EQ(same.fabric->adapters_per_node, 8);
  const std::string slow_link =
      "[link.slow]\nbandwidth = \"80 Gbps\"\nlatency = \"3 us\"\nsource = \"a test\"\n";
  const std::string two =
      "like = \"dgx-h100\"\n" + slow_link +
      "[fabric]\nadapter = \"slow\"\nadapters_per_node = 2\nsource = \"a test\"\n"
      "[gpus]\ngeneration = \"hopper\"\nnetwork = \"roce\"\nsource = \"a test\"\n";
  const DescribedMachine other = machine_from_toml(own + two, "m.toml");
  EXPECT_EQ(other.fabric->adapters_per_node, 2);
  EXPECT_EQ(other.machine.costs.gpus->network.name, "roce");
  EXPECT_EQ(other.machine.costs.in_network->name, "nvls") << "what is not said stays";
  EXPECT_THAT(why(own + "like = \"dgx-h10\"\n"), HasSubstr("unknown name 'dgx-h10'"));
  EXPECT_THAT(why("like = \"dgx-h100\"\n" + head),
              StartsWith("m.toml:1: nothing uses [link.fast]"));
  EXPECT_THAT(why(own + "like = \"dgx-h100\"\n" + four_on_a_star), HasSubstr("structure"));
  const DescribedMachine part = machine_from_toml(own + two, "m.toml", {.lengths = "4"});
  EXPECT_EQ(part.machine.topology.hosts(), 4) << "a size is that of the other";
  EXPECT_EQ(part.fabric->adapters_per_node, 1);
}

TEST(MachineFileTest, PartOfAMachineHasItsShareOfTheAdapters) {
  const auto adapters = [](const char* name) {
    return describe(name, {}).fabric->adapters_per_node;
  };
  EXPECT_EQ(adapters("dgx-h100:8"), 8);
  EXPECT_EQ(adapters("dgx-h100:1"), 1);
  EXPECT_EQ(adapters("aws-p5:2"), 8) << "4 of 32 each";
  EXPECT_EQ(adapters("google-a3-high:3"), 2) << "the second is shared with a GPU that is left out";
  EXPECT_EQ(adapters("google-a3-high:1"), 1);
}

TEST(MachineFileTest, AGraphSaysWhichHostsAreANodeOrWhereTheyAreInAGrid) {
  const std::string ring =
      "kind = \"graph\"\nhosts = 4\ncables = [{a = 0, b = 1, link = \"fast\"}, {a = 1, b = 2, "
      "link = \"fast\"}, {a = 2, b = 3, link = \"fast\"}, {a = 3, b = 0, link = \"fast\"}]\n";
  const Layout nodes = read(structure(ring + "levels = [2, 2]\n")).topology.layout();
  EXPECT_EQ(nodes.kind, Layout::Kind::hierarchy);
  EXPECT_THAT(nodes.dims, ElementsAre(2, 2));
  const Layout grid =
      read(structure(ring + "grid = [4, 1]\nwraps = [true, false]\n")).topology.layout();
  EXPECT_EQ(grid.kind, Layout::Kind::grid);
  EXPECT_THAT(grid.wraps, ElementsAre(true, false));
  EXPECT_THAT(why(structure(ring + "levels = [2, 3]\n")), HasSubstr("2 x 3 is not the number"));
  EXPECT_THAT(why(structure(ring + "grid = [2, 2]\nwraps = [true]\n")), HasSubstr("2 axes need"));
  EXPECT_THAT(why(structure(ring + "grid = [2, 2]\nlevels = [2, 2]\n")), HasSubstr("or a `grid`"));
}

TEST(MachineFileTest, AMachineThatIsLikeItselfIsRefused) {
  const std::string path = testing::TempDir() + "/collbench-like-itself.toml";
  std::ofstream(path) << "summary = \"a machine\"\nsource = \"a test\"\nlike = \"" << path
                      << "\"\n";
  EXPECT_THAT(refusal([&] { describe(path, {}); }), HasSubstr("more than 4 deep"));
  std::filesystem::remove(path);
}

TEST(MachineFileTest, EveryKindOfStructureIsRead) {
  EXPECT_EQ(read(structure("kind = \"full\"\nhosts = 3\nlink = \"fast\"\n")).topology.hosts(), 3);
  const Topology grid = read(structure("kind = \"torus\"\ndims = [3, 4]\nwraps = [false, true]\n"
                                       "links = [\"fast\", \"slow\"]\n"))
                            .topology;
  EXPECT_THAT(grid.layout().wraps, ElementsAre(false, true));
  EXPECT_DOUBLE_EQ(grid.capacity(route(grid, 0, 3).front()), 10e9);
  EXPECT_EQ(read(structure("kind = \"fat-tree\"\nchildren = [2, 3]\nparents = [1, 2]\n"
                           "lanes = [1, 1]\nlinks = \"fast\"\n"))
                .topology.hosts(),
            6);
  EXPECT_EQ(read(structure("kind = \"dragonfly\"\ngroups = 2\nchassis = 2\nrouters = 3\n"
                           "hosts_per_router = 1\nblue = \"slow\"\nblack = \"fast\"\n"
                           "green = \"fast\"\nlocal = \"fast\"\n"))
                .topology.hosts(),
            12);
  const Topology g = read(structure("kind = \"graph\"\nhosts = 2\nswitches = 1\ncables = [\n"
                                    "{a = 0, b = 2, link = \"fast\", lanes = 2},\n"
                                    "{a = 2, b = 1, link = \"slow\"}]\n"))
                         .topology;
  EXPECT_THAT(path(g, 0, 1), ElementsAre(0, 2, 1));
  EXPECT_DOUBLE_EQ(g.capacity(route(g, 0, 1).front()), 100e9);
  EXPECT_EQ(
      read(structure("kind = \"cluster\"\nnode = \"dgx-a100\"\nnodes = 2\n"), "3").topology.hosts(),
      24);
}

TEST(MachineFileTest, CostsAndTheLadderAreRead) {
  const Costs costs = read(head + four_on_a_star + R"([costs]
message_latency = [{from = "0", latency = "1 us"}, {from = "64 KiB", latency = "3 us"}]
wire_factor = 1.1
message_cap = "20 GBps"
reduction_rate = "200 GBps"
per_collective = "7 us"
message_gap = ["1 us"]
source = "a test"
[[protocol]]
name = "LL"
wire_factor = 2
message_latency = ["0 us", "2 us"]
message_gap = ["0 us", "3 us"]
message_cap = ["10 GBps", "none"]
channels = [4]
source = "a test"
[in_network]
name = "nvls"
latency = "25 us"
rate = "270 GBps"
max_ranks = 8
source = "a test"
)")
                          .costs;
  ASSERT_EQ(costs.message_latency.size(), 2U);
  EXPECT_EQ(costs.message_latency[1].from_bytes.count, 65536);
  EXPECT_EQ(costs.reduction_rate, Bandwidth{200e9});
  ASSERT_EQ(costs.protocols.size(), 1U);
  // 4 channels of 10 GB/s of payload are 80 GB/s on the wire.
  EXPECT_EQ(costs.protocols[0].message_cap[0], Bandwidth{80e9});
  EXPECT_EQ(costs.protocols[0].message_cap[1], Bandwidth{0});
  EXPECT_DOUBLE_EQ(costs.protocols[0].message_latency[1].count(), 2e-6);
  EXPECT_EQ(costs.message_gap, std::vector<Seconds>{Seconds{1e-6}});
  EXPECT_EQ(costs.protocols[0].message_gap[1], Seconds{3e-6});
  ASSERT_TRUE(costs.in_network.has_value());
  EXPECT_EQ(costs.in_network->max_ranks, 8);
}

TEST(MachineFileTest, GpusAreRowsOfTablesWhoseNumbersAFileMayReplace) {
  const std::string gpus =
      "[gpus]\ngeneration = \"hopper\"\nnetwork = \"efa-v2\"\ncpu = \"amd\"\nsource = \"t\"\n";
  const Costs plain = read(head + four_on_a_star + gpus).costs;
  ASSERT_TRUE(plain.gpus.has_value());
  EXPECT_EQ(plain.gpus->generation.compute_capability, 90);
  EXPECT_DOUBLE_EQ(plain.gpus->generation.step_factor, 0.94);
  EXPECT_DOUBLE_EQ(plain.gpus->network.hop_ll.count(), 28.4e-6);
  EXPECT_EQ(plain.gpus->cpu, "amd");
  const Costs own =
      read(head + four_on_a_star + gpus + "step_factor = 1.3\nhop_simple = \"33 us\"\n").costs;
  EXPECT_DOUBLE_EQ(own.gpus->generation.step_factor, 1.3);
  EXPECT_DOUBLE_EQ(own.gpus->generation.start_factor, 0.88);
  EXPECT_DOUBLE_EQ(own.gpus->network.hop_simple.count(), 33e-6);
  EXPECT_THAT(why(head + four_on_a_star + with(gpus, "hopper", "hoper")),
              AllOf(StartsWith("m.toml:20: "), HasSubstr("Did you mean 'hopper'?")));
  EXPECT_THAT(why(head + four_on_a_star + with(gpus, "efa-v2", "efa")),
              AllOf(StartsWith("m.toml:21: "), HasSubstr("Known are infiniband, roce")));
  EXPECT_THAT(why(head + four_on_a_star + with(gpus, "amd", "amdd")),
              AllOf(StartsWith("m.toml:22: "), HasSubstr("Did you mean 'amd'?")));
}

TEST(MachineFileTest, ClustersKnowTheGpusOfTheirNodes) {
  const Costs costs = describe("superpod-h100", {}).machine.costs;
  ASSERT_TRUE(costs.gpus.has_value());
  EXPECT_EQ(costs.gpus->generation.name, "hopper");
}

TEST(MachineFileTest, AnUnknownKeyIsRefusedWithItsLineAndTheNearestKey) {
  EXPECT_THAT(why(with(head, "efficiency", "eficiency") + four_on_a_star),
              AllOf(StartsWith("m.toml:6: [link.fast] has no key `eficiency`"),
                    HasSubstr("Did you mean 'efficiency'?")));
  EXPECT_THAT(why(head + four_on_a_star + "[cost]\nwire_factor = 2\n"),
              AllOf(StartsWith("m.toml:19: the file has no key `cost`"),
                    HasSubstr("Did you mean 'costs'?")));
  EXPECT_THAT(why(head + four_on_a_star + "wraps = [true]\n"),
              StartsWith("m.toml:19: [structure] has no key `wraps`"));
}

TEST(MachineFileTest, AMissingSourceIsRefused) {
  EXPECT_THAT(why(with(head, "latency = \"1 us\"\nsource = \"a test\"", "latency = \"1 us\"") +
                  four_on_a_star),
              StartsWith("m.toml:4: [link.fast] needs `source`: where its numbers come from"));
  EXPECT_THAT(
      why(with(head + four_on_a_star, "link = \"fast\"\nsource = \"a test\"", "link = \"fast\"")),
      StartsWith("m.toml:14: [structure] needs `source`"));
  EXPECT_THAT(why(head + four_on_a_star + "[costs]\nwire_factor = 2\n"),
              StartsWith("m.toml:19: [costs] needs `source`"));
  EXPECT_THAT(why(head + four_on_a_star + "[[protocol]]\nname = \"LL\"\n"),
              StartsWith("m.toml:19: [[protocol]] needs `source`"));
}

TEST(MachineFileTest, AProtocolThatIsThereTwiceIsRefused) {
  const std::string ll = "[[protocol]]\nname = \"LL\"\nwire_factor = 2\nsource = \"a test\"\n";
  EXPECT_EQ(why(head + four_on_a_star + ll), why(head + four_on_a_star));
  EXPECT_THAT(why(head + four_on_a_star + ll + ll),
              StartsWith("m.toml:24: a protocol 'LL' is there already"));
}

TEST(MachineFileTest, ImpossibleNumbersAreRefusedWithTheirLine) {
  EXPECT_THAT(why(with(head, "100 GBps", "0 GBps") + four_on_a_star),
              StartsWith("m.toml:5: `bandwidth` of [link.fast] must be above 0"));
  EXPECT_THAT(
      why(with(head, "100 GBps", "100 GB") + four_on_a_star),
      StartsWith("m.toml:5: `bandwidth` of [link.fast]: bandwidth '100 GB' has the unknown"));
  EXPECT_THAT(why(with(head, "0.5", "1.5") + four_on_a_star),
              StartsWith("m.toml:6: `efficiency` of [link.fast] must be from 1e-06 to 1, not 1.5"));
  EXPECT_THAT(why(with(head, "\"1 us\"", "1") + four_on_a_star),
              StartsWith("m.toml:7: `latency` of [link.fast] must be a text with a unit"));
  EXPECT_THAT(why(with(head + four_on_a_star, "hosts = 4", "hosts = 0")),
              StartsWith("m.toml:16: `hosts` of [structure] must be from 1 to"));
  EXPECT_THAT(why(head + four_on_a_star +
                  "[costs]\nmessage_gap = [\"1 us\", \"1 us\", \"1 us\", \"1 us\", \"1 us\"]\n"),
              StartsWith("m.toml:20: `message_gap` has at most 4 entries, one a level"));
}

TEST(MachineFileTest, AnImpossibleWrapIsRefusedWithItsLine) {
  EXPECT_THAT(why(structure("kind = \"torus\"\ndims = [2, 4]\nwraps = [true, true]\n"
                            "links = \"fast\"\n")),
              StartsWith("m.toml:18: axis 0 is 2 long and cannot wrap"));
  EXPECT_THAT(why(structure("kind = \"torus\"\ndims = [4, 4]\nwraps = [true]\nlinks = \"fast\"\n")),
              StartsWith("m.toml:18: 2 axes need as many `wraps`, not 1"));
}

TEST(MachineFileTest, AnUnreachablePairIsRefusedAndNamed) {
  EXPECT_THAT(why(structure("kind = \"graph\"\nhosts = 3\n"
                            "cables = [{a = 0, b = 1, link = \"fast\"}]\n")),
              AllOf(StartsWith("m.toml:14: "), HasSubstr("no path leads from host 0 to host 2")));
  EXPECT_THAT(why(structure("kind = \"graph\"\nhosts = 2\ncables = [\n"
                            "{a = 0, b = 1, link = \"fast\", one_way = true}]\n")),
              HasSubstr("no path leads from host 1 to host 0"));
}

TEST(MachineFileTest, MisspeltNamesAreAnsweredWithTheNearest) {
  EXPECT_THAT(why(with(head + four_on_a_star, "link = \"fast\"", "link = \"fats\"")),
              StartsWith("m.toml:17: there is no [link.fats]; the file has fast, slow. Did you "
                         "mean 'fast'?"));
  EXPECT_THAT(
      why(with(head + four_on_a_star, "\"star\"", "\"stra\"")),
      AllOf(StartsWith("m.toml:15: unknown kind 'stra'"), HasSubstr("Did you mean 'star'?")));
  EXPECT_THAT(why(structure("kind = \"cluster\"\nnode = \"dgx-a10\"\nnodes = 2\n")),
              AllOf(StartsWith("m.toml:14: "), HasSubstr("Did you mean 'dgx-a100'?")));
  EXPECT_THAT(why(structure("kind = \"cluster\"\nnode = \"tpu-v5e:4x4\"\nnodes = 2\n")),
              StartsWith("m.toml:17: 'tpu-v5e:4x4' has no [fabric] of its own"));
}

TEST(MachineFileTest, WhatIsNoTomlIsRefusedWithLineAndColumn) {
  EXPECT_THAT(why("summary = \"a\"\nsource = \n"), StartsWith("m.toml:2: no TOML in column"));
  EXPECT_THAT(why(head + head), StartsWith("m.toml:"));
  EXPECT_THAT(why(""), StartsWith("m.toml:1: the file needs `summary`"));
  EXPECT_THAT(why("summary = 3\nsource = \"a\"\n"), StartsWith("m.toml:1: `summary`"));
  EXPECT_THAT(why("summary = \"a\"\nsource = \"b\"\nlink = 3\n"),
              StartsWith("m.toml:3: `link` of the file must be a table [link]"));
}

TEST(MachineFileTest, NodesThatContainThemselvesAreRefused) {
  const std::string text = structure(
      "kind = \"cluster\"\nnode = \"cluster:2xcluster:2xcluster:2x"
      "cluster:2xcluster:2xdgx-a100\"\nnodes = 2\n");
  EXPECT_THAT(why(text), HasSubstr("nested more than 4 deep"));
}

}  // namespace
}  // namespace collbench

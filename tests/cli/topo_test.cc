// `collbench topo`: what it prints of machines and files, and how it refuses them.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const char* const ring =
    "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 10 ]\nlatency: [ 500 ]\n";

class TopoTest : public testing::Test {
 protected:
  CommandOutcome run(const std::vector<std::string>& arguments) {
    return invoke(folder_, arguments);
  }
  std::string out(const std::vector<std::string>& arguments) {
    const CommandOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  std::string refused(const std::vector<std::string>& arguments) {
    const CommandOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  }
  RunFolder folder_;
};

TEST_F(TopoTest, ListsTheShippedMachines) {
  const std::string text = out({"topo", "list"});
  EXPECT_THAT(text, HasSubstr("dgx-h100 "));
  EXPECT_THAT(text, HasSubstr("tpu-v5e "));
  EXPECT_EQ(out({"topo"}), text);
}

TEST_F(TopoTest, ShowsLinksCostsAndBounds) {
  const std::string text = out({"topo", "show", "torus:4x4,50GBps,1us"});
  for (const char* part :
       {"hosts      16; switches 0, links 64", "layout     grid 4 closed x 4 closed",
        "50 GB/s nominal", "bisection  400 GB/s each way", "ring bound "}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(TopoTest, FilesOfOtherToolsAreNoNodesUntilTheyAreConverted) {
  folder_.write("node.csv", "from,to,bandwidth_GBps,kind\ng0,g1,100,a\ng1,g0,100,a\n");
  EXPECT_THAT(refused({"topo", "show", "cluster:2xnode.csv"}),
              HasSubstr("collbench topo convert node.csv --to toml"));
}

TEST_F(TopoTest, ShowsWhichAxesCloseAndBothWaysOfACut) {
  EXPECT_THAT(out({"topo", "show", "tpu-v5e:8x16"}), HasSubstr("grid 8 open x 16 closed\n"));
  folder_.write("net.csv",
                "from,to,bandwidth_GBps,kind\ng0,g1,100,a\ng1,g2,100,a\ng2,g3,100,a\ng3,g0,1,a\n");
  EXPECT_THAT(
      out({"topo", "show", "net.csv"}),
      HasSubstr("bisection  100 GB/s from the first half of the hosts to the second, 1 GB/s "
                "back\n"));
}

// Two hosts and one link, of which SimGrid says which routes it serves and not what it joins.
TEST_F(TopoTest, APlatformThatStatesRoutesHasNoCuts) {
  folder_.write("net.xml",
                "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" "
                "speed=\"1f\"/><host id=\"b\" speed=\"1f\"/><link id=\"l\" bandwidth=\"1GBps\" "
                "latency=\"1us\"/><route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route></zone>"
                "</platform>");
  EXPECT_THAT(out({"topo", "show", "net.xml"}),
              HasSubstr("bisection  not computed: routes are stated, not what their links join\n"));
  EXPECT_THAT(refused({"synth", "--topo", "net.xml"}), HasSubstr("the platform states routes"));
}

TEST_F(TopoTest, SaysWhatAPlatformLosesOfAMachine) {
  const CommandOutcome made =
      run({"topo", "convert", "mi300x", "--to", "simgrid", "-o", "net.xml"});
  EXPECT_EQ(made.code, 0);
  EXPECT_THAT(made.err, HasSubstr("warning: a SimGrid platform has no costs beyond those of links; "
                                  "left out: per_collective, message_gap"));
  EXPECT_EQ(run({"topo", "convert", "star:4,10GBps,1us", "--to", "simgrid", "-o", "n.xml"}).err,
            "");
}

TEST_F(TopoTest, SaysThatAFabricAndAFitAreNotTranslated) {
  EXPECT_THAT(run({"topo", "convert", "dgx-h100", "--to", "toml", "-o", "box.toml"}).err,
              HasSubstr("left out: how copies of it are joined ([fabric])\n"));
  folder_.write("t.csv",
                "library,algorithm,ranks,nodes,bytes,median_us\n"
                "shm,ring,4,1,1024,10\nshm,ring,4,1,65536,30\nshm,ring,4,1,262144,90\nshm,ring,4,1,"
                "1048576,300\n");
  out({"calibrate", "t.csv", "-o", "mine.toml"});
  EXPECT_THAT(run({"topo", "convert", "mine.toml:4", "--to", "toml", "-o", "net.toml"}).err,
              HasSubstr("left out: its fit and the points of that\n"));
  EXPECT_EQ(run({"topo", "convert", "net.toml", "--to", "toml", "-o", "again.toml"}).err, "");
}

TEST_F(TopoTest, EveryShippedMachineCanBeShownWithItsSources) {
  const std::string text = out({"topo", "show", "dgx-h100"});
  EXPECT_THAT(text, HasSubstr("hosts      8"));
  EXPECT_THAT(text, HasSubstr("source: "));
}

TEST_F(TopoTest, TheBisectionIsBetweenChipsAndNotBetweenTheirCores) {
  const auto width = [&](const char* name) {
    const std::string text = out({"topo", "show", name});
    return text.substr(text.find("bisection"), text.find("ring bound") - text.find("bisection"));
  };
  EXPECT_EQ(width("tpu-v3:2x2"), width("tpu-v3:2x2:chips"));
  EXPECT_EQ(width("tpu-v7:2x2x1"), width("tpu-v7:2x2x1:chips"));
}

TEST_F(TopoTest, ASizeFollowsWhatNamedTheMachine) {
  folder_.write("pico.toml",
                "summary = \"x\"\nsource = \"x\"\n[link.a]\nbandwidth = \"1 GB/s\"\n"
                "latency = \"1 us\"\nsource = \"x\"\n"
                "[structure]\nkind = \"star\"\nlink = \"a\"\nsource = \"x\"\n");
  EXPECT_THAT(refused({"topo", "show", "./pico.toml"}),
              HasSubstr("its size must be given, as in ./pico.toml:8"));
  EXPECT_THAT(out({"topo", "show", "./pico.toml:8"}), HasSubstr("hosts      8"));
  EXPECT_THAT(refused({"topo", "show", "ethernet-10g"}),
              HasSubstr("its size must be given, as in ethernet-10g:8"));
}

TEST_F(TopoTest, ValidatesFilesOfOtherTools) {
  folder_.write("net.yml", ring);
  EXPECT_EQ(out({"topo", "validate", "net.yml"}),
            "net.yml: valid; hosts 4, links 8, classes of links 1\n");
  folder_.write("bad.yml", "topology: [ Rung ]\nnpus_count: [4]\nbandwidth: [1]\nlatency: [1]\n");
  EXPECT_THAT(refused({"topo", "validate", "bad.yml"}),
              HasSubstr("bad.yml:1: unknown topology 'Rung'. Did you mean 'Ring'?"));
  folder_.write("bad.toml", "summary = \"x\"\nbandwith = 3\n");
  EXPECT_THAT(refused({"topo", "validate", "bad.toml"}), HasSubstr("bad.toml:"));
  EXPECT_THAT(refused({"topo", "validate", "net.yml", "--from", "nccl"}),
              HasSubstr("no well-formed XML"));
}

TEST_F(TopoTest, AConvertedMachineIsTheSameMachine) {
  folder_.write("net.yml", ring);
  out({"topo", "convert", "net.yml", "--to", "toml", "-o", "net.toml"});
  out({"topo", "convert", "net.toml", "--to", "simgrid", "-o", "net.xml"});
  for (const char* file : {"net.toml", "net.xml"}) {
    EXPECT_THAT(out({"topo", "validate", file}), HasSubstr("hosts 4, links 8, classes of links 1"));
    EXPECT_THAT(out({"topo", "show", file}), HasSubstr("10.74 GB/s nominal"));
  }
}

// Of ways as short and as wide, a list of links takes another one for every source.
TEST_F(TopoTest, AListOfLinksIsTheSameMachineAsAFile) {
  const std::string list = COLLBENCH_SOURCE_DIR "/tests/heuristics/networks/ring_8.csv";
  out({"topo", "convert", list, "--to", "toml", "-o", "ring.toml"});
  EXPECT_THAT(folder_.read("ring.toml"), HasSubstr("equal_paths = \"spread\""));
  const auto simulated = [&](const std::string& topology) {
    return out({"simulate", "-t", topology, "-A", "direct", "-b", "1M", "-e", "1M", "--format",
                "csv", "-q"});
  };
  const std::string of_list = simulated(list + ",latency=0us");
  out({"topo", "convert", list + ",latency=1us", "--to", "toml", "-o", "late.toml"});
  EXPECT_THAT(folder_.read("late.toml"), HasSubstr("latency = \"1e-06 s\""));
  EXPECT_THAT(out({"topo", "convert", "star,10GBps,1us", "-W", "3", "--to", "toml"}),
              HasSubstr("hosts = 3"));
  const std::string of_file = simulated("ring.toml");
  const auto time = [](const std::string& csv) { return csv.substr(csv.rfind(",fluid,")); };
  EXPECT_EQ(time(of_list), time(of_file));
}

TEST_F(TopoTest, WritesGraphvizToAFileAndToStandardOutput) {
  EXPECT_EQ(out({"topo", "draw", "star:4,10GBps,1us", "--dot", "a.dot"}), "");
  EXPECT_THAT(folder_.read("a.dot"), StartsWith("digraph"));
  EXPECT_EQ(out({"topo", "draw", "star:4,10GBps,1us", "--dot", "-"}), folder_.read("a.dot"));
  EXPECT_EQ(out({"topo", "convert", "star:4,10GBps,1us", "--to", "dot"}), folder_.read("a.dot"));
  EXPECT_THAT(refused({"topo", "draw", "star:4,10GBps,1us"}),
              HasSubstr("--svg FILE or --dot FILE"));
}

TEST_F(TopoTest, GraphvizDrawsEveryLayout) {
  if (is_missing("dot")) GTEST_SKIP() << "Graphviz is not installed (graphviz)";
  for (const char* machine :
       {"star:4,10GBps,1us", "full:20,1GBps,1us", "torus:4x3x3x2,50GBps,1us", "cluster:15xdgx-a100",
        "torus:32x32,50GBps,1us", "cluster:40xdgx-h100", "dgx-1-v100"}) {
    const CommandOutcome drawn = run({"topo", "draw", machine, "--svg", "a.svg"});
    EXPECT_EQ(drawn.code, 0) << machine;
    EXPECT_EQ(drawn.err, "") << machine;
    EXPECT_THAT(folder_.read("a.svg"), HasSubstr("</svg>")) << machine;
    EXPECT_THAT(folder_.read("a.svg"), HasSubstr(" each way, ")) << machine;
    EXPECT_EQ(out({"topo", "convert", machine, "--to", "svg"}), folder_.read("a.svg"));
  }
}

TEST_F(TopoTest, WithoutGraphvizItSaysWhatToInstall) {
  const CommandOutcome drawn = invoke(
      folder_, {"topo", "draw", "star:4,10GBps,1us", "--svg", "a.svg"}, {{"PATH", "/nonexistent"}});
  EXPECT_EQ(drawn.code, 4);
  EXPECT_THAT(drawn.err, HasSubstr("dot is not installed (Debian: graphviz); --dot FILE"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/a.svg"));
}

TEST_F(TopoTest, UnknownNamesGetASuggestion) {
  EXPECT_THAT(refused({"topo", "show", "dgx-h10"}), HasSubstr("Did you mean 'dgx-h100'?"));
  EXPECT_THAT(refused({"topo", "convert", "dgx-h100", "--to", "svgg"}),
              HasSubstr("Did you mean 'svg'?"));
  EXPECT_THAT(refused({"topo", "shw"}), HasSubstr("Did you mean 'show'?"));
  EXPECT_THAT(refused({"topo", "show", "x.xml", "--from", "nccl"}),
              HasSubstr("cannot read 'x.xml'"));
}

}  // namespace
}  // namespace collbench

// `collbench synth`: certificates, plans and what is refused.
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::HasSubstr;

constexpr const char* one_way = "from,to,bandwidth_GBps,kind\ng0,g1,10,link\n";
constexpr const char* triangle =
    "from,to,bandwidth_GBps,kind\ng0,g1,10,link\ng1,g0,10,link\ng1,g2,10,link\ng2,g1,10,link\n"
    "g0,g2,10,link\ng2,g0,10,link\n";

class SynthTest : public testing::Test {
 protected:
  SynthTest() {
    write("net.csv", triangle);
    write("one-way.csv", one_way);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  std::string read(const std::string& name) {
    std::ifstream file(folder_.path() + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
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
    return outcome.err;
  }
  RunFolder folder_;
};

TEST_F(SynthTest, PrintsTheBoundAsJson) {
  const std::string text =
      out({"synth", "--topo", "net.csv", "--collective", "reduce-scatter", "--bound", "--json"});
  EXPECT_THAT(text, HasSubstr("\"seconds_per_GB\": \"1/30\""));
  EXPECT_THAT(text, HasSubstr("\"cut\": [\n    \"g0\"\n  ],\n  \"entering\": false"));
}

TEST_F(SynthTest, ChoosesTheRoutesOfAListOfLinks) {
  write("two.csv",
        "from,to,bandwidth_GBps,kind\ng0,g1,10,link\ng1,g0,10,link\ng0,s_0,5,link\n"
        "s_0,g0,5,link\ng1,s_0,5,link\ns_0,g1,5,link\n");
  const std::string text = out({"synth", "--topo", "two.csv"});
  EXPECT_THAT(text, HasSubstr("chosen: messages of 2 of 2 pairs of ranks are spread over up to 2 "
                              "ways"));
  EXPECT_THAT(text, HasSubstr("over one, trees reach 66.67 % of the bound"));
  const std::string json = out({"synth", "--topo", "two.csv", "--json"});
  EXPECT_THAT(json, HasSubstr("\"links\": [\n        \"g0 -> s_0 (link)\",\n"
                              "        \"s_0 -> g1 (link)\"\n      ]"));
  // 30 MB each way through 15 GB/s, and a little for filling.
  const std::vector<std::string> play{"simulate", "-t",  "two.csv",  "-A", "synth",
                                      "-b",       "30M", "--format", "csv"};
  EXPECT_THAT(out(play), HasSubstr(",fluid"));
  std::vector<std::string> by_classes = play;
  by_classes.insert(by_classes.end(), {"--engine", "quotient"});
  EXPECT_THAT(refused(by_classes), HasSubstr("engine fluid plays messages that are spread"));
  by_classes[4] = "synth:routes=one";
  EXPECT_THAT(out(by_classes), HasSubstr(",quotient"));
  by_classes[4] = "synth:routes=two";
  EXPECT_THAT(refused(by_classes), HasSubstr("routes are chosen or one for each pair, not 'two'"));
  by_classes[4] = "synth:no=one";
  EXPECT_THAT(refused(by_classes), HasSubstr("synth: unknown option 'no'"));
  EXPECT_THAT(out({"synth", "--topo", "two.csv", "--msccl", "plan.xml"}),
              HasSubstr("routes     one for each pair of ranks"));
}

TEST_F(SynthTest, MessagesTakeLinksOfSeveralKindsAtOnce) {
  write("kinds.csv",
        "from,to,bandwidth_GBps,kind\ng0,g1,5,nic\ng1,g0,5,nic\ng0,g1,5,nvlink\ng1,g0,5,nvlink\n");
  EXPECT_THAT(out({"synth", "--topo", "kinds.csv"}),
              AllOf(HasSubstr("bound      1/10 s/GB"), HasSubstr("spread over up to 2 ways"),
                    HasSubstr("reached    10 GB/s")));
  EXPECT_THAT(out({"synth", "--topo", "kinds.csv", "--bound", "--degrade", "link nic:0.5"}),
              HasSubstr("7.5 GB/s"));
}

TEST_F(SynthTest, SaysWhatSwitchesWouldHaveToCopy) {
  write("uneven.csv",
        "from,to,bandwidth_GBps,kind\ng0,s_0,15,link\ns_0,g0,30,link\ng1,s_0,9,link\n"
        "s_0,g1,18,link\ng2,s_0,16,link\ns_0,g2,16,link\n");
  // 40 GB/s enter the switch, and two shards have to leave it for each that is sent once.
  const std::vector<std::string> gather{"synth", "--topo", "uneven.csv", "--collective",
                                        "all-gather"};
  EXPECT_THAT(out(gather), HasSubstr("no trees of messages reach more than 20 GB/s, 83.33 % of the "
                                     "bound: switches would have to copy"));
}

TEST_F(SynthTest, WritesAScheduleThatIsReadAndProvenAgain) {
  EXPECT_THAT(out({"synth", "--topo", "net.csv", "--objective", "64K", "--msccl", "plan.xml"}),
              HasSubstr("100 % of the bound"));
  EXPECT_THAT(out({"algos", "verify", "file:plan.xml", "-W", "3"}), HasSubstr("proven"));
  for (const char* half : {"all-gather", "reduce-scatter"}) {
    out({"synth", "--topo", "net.csv", "--collective", half, "--msccl", "half.xml"});
    EXPECT_THAT(out({"algos", "verify", "file:half.xml", "-W", "3", "--collective", half}),
                HasSubstr("proven"));
    EXPECT_THAT(out({"simulate", "-A", "file:half.xml", "-t", "net.csv", "--collective", half, "-b",
                     "1M", "-e", "1M"}),
                HasSubstr("file:half.xml"));
    EXPECT_THAT(out({"run", "-A", "file:half.xml", "-W", "3", "--collective", half, "-b", "1M",
                     "-e", "1M", "-n", "2", "--quiet", "--json", "-"}),
                HasSubstr("\"wrong_elements\":0"));
  }
}

TEST_F(SynthTest, SaysWhereRuntimesOfMscclHaveNoRoom) {
  const auto warned = [&](const std::string& network) {
    const CommandOutcome outcome =
        run({"synth", "--topo", network, "--collective", "all-gather", "--msccl", "p.xml"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  };
  EXPECT_EQ(warned("dgx-1-v100"), "");
  EXPECT_THAT(warned("mesh:270,100Gbps,1us"),
              HasSubstr("warning: --msccl: 4 thread blocks of up to 269 steps and 270 chunks; "
                        "runtimes of MSCCL take 128, 64 and 32767"));
  EXPECT_THAT(
      run({"algos", "show", "ring:segments=64", "-W", "8", "--format", "msccl"}).err,
      HasSubstr("warning: --format msccl: 2 thread blocks of up to 896 steps and 512 chunks"));
}

TEST_F(SynthTest, WritesAPlanOfMscclppAndAPicture) {
  out({"synth", "--topo", "dgx-1-v100", "--mscclpp", "plan.json", "--dot", "trees.dot"});
  EXPECT_THAT(read("plan.json"), HasSubstr("\"collective\":\"allreduce\""));
  EXPECT_THAT(read("trees.dot"), HasSubstr("digraph trees"));
  out({"synth", "--topo", "cluster:2xdgx-h100", "--collective", "all-gather", "--mscclpp", "-"});
  out({"synth", "--topo", "cluster:2xdgx-h100", "--mscclpp", "-"});
  const CommandOutcome drawn = run({"synth", "--topo", "net.csv", "--svg", "trees.svg"});
  if (drawn.code == 4) GTEST_SKIP() << "Graphviz is not installed";
  EXPECT_EQ(drawn.code, 0);
  EXPECT_THAT(read("trees.svg"), HasSubstr("</svg>"));
}

TEST_F(SynthTest, LooksForStepsWhereZ3IsInstalled) {
  const std::vector<std::string> asked = {"synth",      "--topo",      "net.csv",  "--latency",
                                          "10us",       "--objective", "latency",  "--collective",
                                          "all-gather", "--msccl",     "steps.xml"};
  const CommandOutcome outcome = run(asked);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  if (outcome.err.find("z3 is not installed") != std::string::npos) {
    GTEST_SKIP() << "z3 is not installed";
  }
  EXPECT_THAT(outcome.out, HasSubstr("proven the best within 8 rounds of the fewest"));
  EXPECT_THAT(out({"algos", "verify", "file:steps.xml", "-W", "3", "--collective", "all-gather"}),
              HasSubstr("proven"));
  EXPECT_THAT(
      out({"synth", "--topo", "net.csv", "--latency", "10us", "--objective", "4K", "--json"}),
      HasSubstr("\"left_open\": 0"));
  EXPECT_EQ(
      out({"synth", "--topo", "net.csv", "--objective", "latency", "--solve", "0"}).find("\nsteps"),
      std::string::npos);
}

TEST_F(SynthTest, SaysWhatFaultsCostInTextAndJson) {
  const std::vector<std::string> asked = {
      "synth", "--topo", "net.csv", "--degrade", "link g0 -> g1:0.5", "--dead-links", "--bound"};
  const std::string text = out(asked);
  EXPECT_THAT(text, HasSubstr("times the whole network's time"));
  EXPECT_THAT(text, HasSubstr("dead link"));
  std::vector<std::string> as_json = asked;
  as_json.push_back("--json");
  const std::string json = out(as_json);
  EXPECT_THAT(json, HasSubstr("\"times_of_whole\": 1."));
  EXPECT_THAT(json, HasSubstr("\"dead_link\": {\n    \"times\""));
  EXPECT_THAT(out({"synth", "--topo", "star:4,10Gbps,1us", "--dead-links", "--bound"}),
              HasSubstr("dead link  4 cables cut ranks off, the first is host 0 -> switch"));
  EXPECT_THAT(out({"synth", "--topo", "net.csv", "--degrade", "link link:0.5", "--bound"}),
              HasSubstr("2 times the whole network's time"));
}

// Also where they lead from a vertex to one of a lower number.
TEST_F(SynthTest, DeadLinksAreLookedForAmongLinksOfOneDirection) {
  write("loop.csv",
        "from,to,bandwidth_GBps,kind\ng0,g1,10,x\ng1,g0,1,x\ng1,g2,10,x\ng2,g1,1,x\ng2,g0,10,x\n");
  const std::string text = out({"synth", "--topo", "loop.csv", "--dead-links", "--bound"});
  EXPECT_THAT(text, HasSubstr("at worst 8 times the time: g2 -> g0"));
  write("circle.csv", "from,to,bandwidth_GBps,kind\ng0,g1,10,x\ng1,g2,10,x\ng2,g0,10,x\n");
  EXPECT_THAT(out({"synth", "--topo", "circle.csv", "--dead-links", "--bound"}),
              HasSubstr("3 cables cut ranks off"));
}

// What is compared has as many trees, so a link that they do not fill costs nothing.
TEST_F(SynthTest, FaultsAreComparedByAsManyTrees) {
  write("fast.csv",
        "from,to,bandwidth_GBps,kind\ng0,g1,15,x\ng1,g0,15,x\ng1,g2,15,x\ng2,g1,15,x\n"
        "g2,g0,15,x\ng0,g2,15,x\ng0,g3,10,x\ng3,g0,10,x\ng1,g3,10,x\ng3,g1,10,x\n");
  const std::string text = out({"synth", "--topo", "fast.csv", "--collective", "all-gather",
                                "--trees-per-root", "1", "--degrade", "link g0>g1:1", "--bound"});
  EXPECT_THAT(text, HasSubstr("degraded   1 times the whole network's time"));
  EXPECT_THAT(text, HasSubstr("because    whole trees do not fill the links"));
  // Three trees then enter a rank through two links, not 1.5 through each.
  EXPECT_THAT(out({"synth", "--topo", "full:4,10GBps,1us", "--collective", "all-gather",
                   "--trees-per-root", "1", "--dead-links"}),
              HasSubstr("at worst 2 times the time"));
}

TEST_F(SynthTest, SharesOfLinksAreExact) {
  EXPECT_THAT(
      out({"synth", "--topo", "full:4,64GBps,1us", "--bound", "--json", "--degrade", "host 3:0.1"}),
      HasSubstr("\"seconds_per_GB\": \"5/96\""));
  EXPECT_THAT(out({"synth", "--topo", "star:2,100GBps,1us", "--bound", "--json", "--degrade",
                   "host 1:0.123456789"}),
              HasSubstr("\"seconds_per_GB\": \"10000000/123456789\""));
}

TEST_F(SynthTest, IsMadeForLateRanksAndPlayedWithThem) {
  EXPECT_THAT(out({"synth", "--topo", "net.csv", "--late", "1:900ms"}),
              HasSubstr("rank 1 by 900 ms: the others add up before"));
  EXPECT_THAT(out({"synth", "--topo", "net.csv", "--late", "1:900ms", "--objective", "4"}),
              HasSubstr("rank 1 by 900 ms: waiting for all is faster in simulation"));
  // Then the times by links are also those of the plan that waits.
  const auto late = [&](const char* objective) {
    return parse_json<nlohmann::json>(out({"synth", "--topo", "net.csv", "--late", "1:900ms",
                                           "--objective", objective, "--json"}))["late"];
  };
  const nlohmann::json waits = late("4");
  EXPECT_EQ(waits["adds_up_early"], false);
  EXPECT_EQ(waits["early_s"], 0);
  EXPECT_EQ(waits["after_s"], waits["usual_after_s"]);
  EXPECT_LE(waits["simulated_waiting_after_s"], waits["simulated_early_after_s"]);
  const nlohmann::json early = late("64M");
  EXPECT_EQ(early["adds_up_early"], true);
  EXPECT_LT(early["after_s"], early["usual_after_s"]);
  EXPECT_THAT(refused({"synth", "--topo", "net.csv", "--late", "1:1ms", "--objective", "latency"}),
              HasSubstr("--late needs the size"));
  EXPECT_THAT(refused({"synth", "--topo", "net.csv", "--late", "1"}),
              HasSubstr("'1' is not NUMBER:VALUE"));
  EXPECT_THAT(
      refused({"synth", "--topo", "net.csv", "--late", "1:1ms", "--collective", "reduce-scatter"}),
      HasSubstr("--late is for an all-reduce"));
  EXPECT_THAT(out({"simulate", "--topo", "net.csv", "--latency", "1us", "--algo",
                   "synth:late=1:delay=10ms", "-b", "64M", "-e", "64M", "--stragglers", "1:10ms"}),
              HasSubstr("algo=synth:late=1:delay=10ms"));
}

TEST_F(SynthTest, RunsAmongOthersOnANetworkWhoseNameHasCommas) {
  const std::string rows =
      out({"--algo", "direct,synth:topo=full:3,64GBps,1us,ring:segments=2,synth:topo=net.csv", "-W",
           "3", "-b", "1K", "-e", "1K", "-n", "2", "-w", "1", "--format", "csv"});
  for (const char* name : {"\ndirect,", "\n\"synth:topo=full:3,64GBps,1us\",", "\nring:segments=2,",
                           "\nsynth:topo=net.csv,"}) {
    EXPECT_THAT(rows, HasSubstr(name));
  }
}

TEST_F(SynthTest, IsSimulatedAndChosenOnItsNetwork) {
  EXPECT_THAT(
      out({"simulate", "--topo", "net.csv", "--latency", "1us", "--algo", "synth", "-b", "64M"}),
      HasSubstr("synth"));
}

TEST_F(SynthTest, IsTakenByAutoWhereNoOtherUsesTheLinks) {
  std::string line = "from,to,bandwidth_GBps,kind\n";
  for (const auto& [a, b] : {std::pair{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}) {
    for (const auto& [from, to] : {std::pair{a, b}, {b, a}}) {
      line += "g" + std::to_string(from) + ",g" + std::to_string(to) + ",10,link\n";
    }
  }
  write("line.csv", line);
  EXPECT_THAT(out({"select", "--topo", "line.csv,latency=1us", "-W", "6", "-b", "64M"}),
              HasSubstr("auto: synth for 64 MiB"));
}

TEST_F(SynthTest, RatesFarApartAreBoundedAndNotPacked) {
  for (const char* share : {"1e-5", "1e-6"}) {
    const std::string slow = std::string("link g0>g1:") + share;
    out({"synth", "--topo", "net.csv", "--degrade", slow, "--bound"});
    const std::vector<std::string> made{"synth", "--topo", "net.csv", "--degrade", slow};
    if (slow.ends_with("5")) {
      EXPECT_THAT(out(made), HasSubstr("100 % of the bound"));
      continue;
    }
    EXPECT_THAT(refused(made), HasSubstr("g1 -> g2 (link) (10 GB/s) is 1e+06 times as fast as "
                                         "g0 -> g1 (link) (1e-05 GB/s)"));
  }
  const std::vector<std::string> counted{"synth",        "--topo",     "net.csv",
                                         "--collective", "all-gather", "--trees-per-root",
                                         "1024",         "--degrade"};
  const auto with = [&](const std::string& lost) {
    std::vector<std::string> all = counted;
    all.push_back(lost);
    return all;
  };
  write("net.csv", "from,to,bandwidth_GBps,kind\ng0,g1,1000000000,x\ng1,g0,1e-9,x\n");
  EXPECT_THAT(refused(with("link g0>g1:1")), HasSubstr("1e+18 times apart, are too unlike"));
}

TEST_F(SynthTest, RefusesWhatCannotBe) {
  EXPECT_THAT(refused({"synth", "--topo", "one-way.csv"}),
              HasSubstr("no path leads from g1 to g0"));
  EXPECT_THAT(refused({"synth", "--topo", "net.csv", "--collective", "broadcast"}),
              HasSubstr("broadcast has a root"));
  EXPECT_THAT(refused({"synth", "--topo", "net.csv", "--degrade", "link g0>g7:0"}),
              HasSubstr("has no 'g7'"));
  EXPECT_THAT(
      refused({"synth", "--topo", "net.csv", "--degrade", "link X:0.5"}),
      HasSubstr("neither two names, as in g0>g1, nor a kind of link of net.csv, which has link."));
  EXPECT_THAT(refused({"synth", "--topo", "star:4,10Gbps,1us", "--latency", "2us"}),
              HasSubstr("'star:4,10Gbps,1us' states its latencies"));
  EXPECT_THAT(refused({"synth", "--topo", "net.csv", "--trees-per-root", "2"}),
              HasSubstr("for all-gather only"));
}

}  // namespace
}  // namespace collbench

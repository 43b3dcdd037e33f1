// `collbench synth`: certificates, plans and what is refused.
#include <fstream>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

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
  Outcome run(const std::vector<std::string>& arguments) { return invoke(folder_, arguments); }
  std::string out(const std::vector<std::string>& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  std::string refused(const std::vector<std::string>& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  }
  ScratchFolder folder_;
};

TEST_F(SynthTest, PrintsTheBoundAsJson) {
  const std::string text =
      out({"synth", "--topo", "net.csv", "--collective", "reduce-scatter", "--bound", "--json"});
  EXPECT_THAT(text, HasSubstr("\"seconds_per_GB\": \"1/30\""));
  EXPECT_THAT(text, HasSubstr("\"cut\": [\n    \"g0\"\n  ],\n  \"entering\": false"));
}

TEST_F(SynthTest, WritesAScheduleThatIsReadAndProvenAgain) {
  EXPECT_THAT(out({"synth", "--topo", "net.csv", "--objective", "64K", "--msccl", "plan.xml"}),
              HasSubstr("100 % of the bound"));
  EXPECT_THAT(out({"algos", "verify", "file:plan.xml", "-W", "3"}), HasSubstr("proven"));
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

TEST_F(SynthTest, RefusesWhatCannotBe) {
  EXPECT_THAT(refused({"synth", "--topo", "one-way.csv"}),
              HasSubstr("no path leads from g1 to g0"));
  EXPECT_THAT(refused({"synth", "--topo", "net.csv", "--collective", "broadcast"}),
              HasSubstr("broadcast has a root"));
  EXPECT_THAT(refused({"synth", "--topo", "net.csv", "--degrade", "link g0>g7:0"}),
              HasSubstr("has no 'g7'"));
  EXPECT_THAT(refused({"synth", "--topo", "net.csv", "--trees-per-root", "2"}),
              HasSubstr("for all-gather only"));
}

}  // namespace
}  // namespace collbench

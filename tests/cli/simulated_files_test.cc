// The files that `collbench simulate` writes, what other commands make of them, and how signals end
// it.
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/background.h"
#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

/// Fields of lines without quotes.
std::vector<std::vector<std::string>> csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

class SimulatedFilesTest : public testing::Test {
 protected:
  /// A ring of four: 6 rounds of 4 messages of 256 KiB.
  CommandOutcome simulate(std::vector<std::string> more) {
    std::vector<std::string> words = {"simulate", "-A", "ring", "-t", "star:4,100Gbps,5us",
                                      "-b",       "1M", "-e",   "1M"};
    words.insert(words.end(), more.begin(), more.end());
    return invoke(folder_, words);
  }
  RunFolder folder_;
};

TEST_F(SimulatedFilesTest, ATraceHasEveryMessageAndTablesHaveLinksAndRanks) {
  const CommandOutcome played =
      simulate({"--trace", "trace.json", "--links", "links.csv", "--ranks", "ranks.csv"});
  ASSERT_EQ(played.code, 0) << played.err;
  const auto trace = parse_json<nlohmann::json>(folder_.read("trace.json"));
  int messages = 0;
  for (const auto& event : trace["traceEvents"]) {
    messages += event["ph"] == "b" && event["name"].get<std::string>().starts_with("round") ? 1 : 0;
  }
  EXPECT_EQ(messages, 24);
  // Each rank sends and receives six messages, over the two links of its host.
  const auto links = csv(folder_.read("links.csv"));
  ASSERT_EQ(links.size(), 1U + 8);
  for (std::size_t i = 1; i < links.size(); ++i) EXPECT_EQ(links[i][5], "1572864") << i;
  const auto ranks = csv(folder_.read("ranks.csv"));
  ASSERT_GE(ranks.size(), 1U + 4);
  for (std::size_t i = 1; i <= 4; ++i) EXPECT_NEAR(std::stod(ranks[i][3]), 155.829, 0.001);
  // They are of one case.
  const CommandOutcome several = simulate({"-W", "2,4", "--links", "links.csv"});
  EXPECT_EQ(several.code, 2);
  EXPECT_THAT(several.err, HasSubstr("--links"));
}

TEST_F(SimulatedFilesTest, ATraceAndItsLinksAreOnePageOfAReport) {
  ASSERT_EQ(simulate({"--trace", "trace.json", "--links", "links.csv"}).code, 0);
  const auto page = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "report");
    words.insert(words.end(), {"--html", "page.html"});
    const CommandOutcome outcome = invoke(folder_, words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return folder_.read("page.html");
  };
  const std::string both = page({"trace.json", "links.csv"});
  EXPECT_THAT(both, AllOf(HasSubstr("trace.json"), ContainsRegex("host 0 (->|-&gt;|→) switch")));
  EXPECT_GT(both.size(), page({"links.csv"}).size());
}

TEST_F(SimulatedFilesTest, CsvNamesTheNetworkTheEngineAndTheExactTime) {
  ASSERT_EQ(simulate({"--csv", "cases.csv", "--collective", "all-gather"}).code, 0);
  const std::string table = folder_.read("cases.csv");
  EXPECT_THAT(table, HasSubstr(",topology,collective,posting,mapping,protocol,engine,exact_us,"));
  EXPECT_THAT(table, HasSubstr(",\"star:4,100Gbps,5us\",all-gather,eager,row-major,auto,fluid,"));
  // Real cases have no network; with simulated ones in the same file they leave those fields empty.
  ASSERT_EQ(invoke(folder_, {"run", "-A", "ring", "-W", "2", "-b", "4", "-e", "4", "-n", "1",
                             "--collective", "all-gather", "--csv", "real.csv"})
                .code,
            0);
  EXPECT_THAT(folder_.read("real.csv"),
              AllOf(HasSubstr(",collective,root\n"), ContainsRegex(",all-gather,0\n$")));
}

TEST_F(SimulatedFilesTest, NetworksStayApartWhenTheirCsvIsReadBack) {
  const std::string networks = "star:4,100Gbps,5us;star:4,10Gbps,5us";
  const CommandOutcome played = invoke(folder_, {"simulate", "-A", "ring", "-t", networks, "-b",
                                                 "1M", "-e", "1M", "--csv", "both.csv"});
  ASSERT_EQ(played.code, 0) << played.err;
  const CommandOutcome shown = invoke(folder_, {"report", "both.csv"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("star:4,100Gbps,5us"), HasSubstr("star:4,10Gbps,5us")));
  const CommandOutcome compared = invoke(folder_, {"compare", "both.csv", "both.csv"});
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_THAT(compared.out, AllOf(HasSubstr("on:star:4,100Gbps,5us"), HasSubstr("# 2 cases:")));
}

TEST_F(SimulatedFilesTest, DisturbancesStayApartWhenTheirCsvIsReadBack) {
  for (const char* jitter : {"1us", "5us"}) {
    const CommandOutcome played =
        invoke(folder_, {"simulate", "-A", "ring", "-t", "star:4,10Gbps,5us", "-b", "1M", "-e",
                         "1M", "--jitter", jitter, "--json", std::string(jitter) + ".json"});
    ASSERT_EQ(played.code, 0) << played.err;
  }
  ASSERT_EQ(invoke(folder_, {"report", "1us.json", "5us.json", "--csv", "both.csv"}).code, 0);
  const CommandOutcome shown = invoke(folder_, {"report", "both.csv"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("star:4,10Gbps,5us, jitter_us 1"),
                               HasSubstr("star:4,10Gbps,5us, jitter_us 5")))
      << shown.err;
}

TEST_F(SimulatedFilesTest, WhatBoundsACaseIsExplained) {
  const std::string text = simulate({"--explain"}).out;
  EXPECT_THAT(text,
              HasSubstr("#   ring in 6 rounds, 24 messages; engine fluid: about 24 messages"));
  EXPECT_THAT(text, HasSubstr("81 % of its 12.5 GB/s over 155.8 us, 8 links are used as much"));
}

TEST_F(SimulatedFilesTest, CostsOfAMachineAndPointsOfARegretAreShown) {
  EXPECT_THAT(invoke(folder_, {"topo", "show", "dgx-h100"}).out,
              AllOf(HasSubstr("cost       per_collective = 6.6 us\n"),
                    HasSubstr("message_gap = by level")));
  const CommandOutcome regret = invoke(
      folder_,
      {"regret", COLLBENCH_SOURCE_DIR "/tests/bench/tuning/pico.csv", "-p", "model", "--points"});
  EXPECT_EQ(regret.code, 0) << regret.err;
  EXPECT_THAT(regret.out,
              HasSubstr("model | mare_nostrum OMPI 4.1.5 | 32 ranks on 32 nodes | 32 B | best "
                        "bine_lat_over 16.07 us | chose bine_lat_over +0.0 %\n"));
}

class LongSimulationTest : public SimulatedFilesTest,
                           public testing::WithParamInterface<const char*> {};

TEST_P(LongSimulationTest, EndsSoonAfterASignal) {
  const BackgroundProcess run(folder_,
                              {"simulate", "-A", "ring", "-t", "star:6000,100Gbps,5us", "-b", "1M",
                               "-e", "1M", "--engine", GetParam(), "--json", "kept.json"},
                              {}, "log");
  std::this_thread::sleep_for(std::chrono::seconds(2));
  run.signal(SIGTERM);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run.wait(), 143);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_THAT(folder_.read("log"), HasSubstr("# ended early after 0 of 1 cases: SIGTERM"));
  EXPECT_TRUE(parse_json<nlohmann::json>(folder_.read("kept.json"))["records"].empty());
}

INSTANTIATE_TEST_SUITE_P(Engines, LongSimulationTest,
                         testing::Values("fluid", "quotient", "simgrid"));

TEST_F(SimulatedFilesTest, AnAlgorithmThatCannotBePlayedLeavesTheOthers) {
  const auto played = [&](const std::string& algorithms) {
    return invoke(folder_, {"simulate", "-A", algorithms, "-W", "4", "-t", "dgx-h100", "--groups",
                            "0-1,2-3", "-b", "1M", "-e", "1M"});
  };
  const CommandOutcome rest = played("nccl,ring");
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_THAT(rest.err, HasSubstr("left out: nccl: groups side by side need messages"));
  EXPECT_THAT(rest.out, HasSubstr("1 case"));
  EXPECT_EQ(played("nccl").code, 2);
  EXPECT_EQ(played("ring,rign").code, 2);
}

TEST_F(SimulatedFilesTest, AMisspeltCommandIsNamedBeforeItsOptions) {
  EXPECT_THAT(invoke(folder_, {"simulat", "-t", "star:4,100Gbps,5us"}).err,
              HasSubstr("unknown command 'simulat'. Did you mean 'simulate'?"));
  EXPECT_THAT(invoke(folder_, {"simulate", "--topo"}).err, HasSubstr("--topo: needs a value"));
}

}  // namespace
}  // namespace collbench

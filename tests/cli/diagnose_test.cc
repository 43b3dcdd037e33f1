// `collbench diagnose`: verdicts, causes, exit codes and formats, with and without --topo.
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/input_file.h"
#include "core/json.h"

namespace collbench {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string tables = COLLBENCH_SOURCE_DIR "/tests/cli/diagnosis/";
const std::string shipped = COLLBENCH_SOURCE_DIR "/results/published/";

class DiagnoseTest : public testing::Test {
 protected:
  nlohmann::json json_of(const std::vector<std::string>& arguments, int code) {
    std::vector<std::string> all = {"diagnose", "--json"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const CommandOutcome outcome = invoke(folder_, all);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return parse_json<nlohmann::json>(outcome.out);
  }
  RunFolder folder_;
};

struct Sample {
  const char* file;
  const char* topology;
  const char* cause;  // "": healthy
};
constexpr Sample samples[] = {
    {"h100_8gpu_healthy_nvls.txt", "dgx-h100", ""},
    {"h100_8gpu_nvls_off.txt", "dgx-h100", "nvls_off"},
    {"h100_2x8_ring_healthy.txt", "cluster:2xdgx-h100", ""},
    {"h100_2x8_ring_no_gdr.txt", "cluster:2xdgx-h100", "gdr_off"},
    {"h100_2x8_ring_intermittent_straggler.txt", "cluster:2xdgx-h100", "straggler"},
};

class SampleTest : public DiagnoseTest, public testing::WithParamInterface<Sample> {};

// The table names its GPUs, so that the machine need not be given.
TEST_P(SampleTest, IsJudgedAlikeWithAndWithoutTopology) {
  const Sample& sample = GetParam();
  const bool healthy = std::string(sample.cause).empty();
  for (const std::vector<std::string>& topology :
       {std::vector<std::string>{}, {"--topo", sample.topology}}) {
    std::vector<std::string> arguments = {tables + sample.file};
    arguments.insert(arguments.end(), topology.begin(), topology.end());
    const nlohmann::json json = json_of(arguments, healthy ? 0 : 1);
    EXPECT_EQ(json["verdict"], healthy ? "healthy" : "unhealthy");
    if (healthy) {
      EXPECT_TRUE(json["causes"].empty()) << json["causes"];
    } else {
      ASSERT_FALSE(json["causes"].empty());
      EXPECT_EQ(json["causes"][0], sample.cause);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Every, SampleTest, testing::ValuesIn(samples), [](const auto& row) {
  const std::string file = row.param.file;
  return file.substr(0, file.find('.'));
});

TEST_F(DiagnoseTest, SaysOfEachSizeWhatIsExpected) {
  const auto json = json_of({tables + "h100_8gpu_nvls_off.txt"}, 1);
  const nlohmann::json& table = json["tables"][0];
  ASSERT_EQ(table["sizes"].size(), 31U);
  const nlohmann::json& last = table["sizes"].back();
  EXPECT_LT(last["low_us"], last["expected_us"]);
  EXPECT_LT(last["expected_us"], last["high_us"]);
  EXPECT_EQ(last["verdict"], "slow");
  EXPECT_EQ(last["played"], "nvls, Simple");
  EXPECT_NEAR(table["busbw_GBps"].get<double>(), 363, 4);
  EXPECT_EQ(table["thresholds"][0]["vendor"], "Azure NHC");
  EXPECT_EQ(table["thresholds"][0]["outcome"], "missed");
}

TEST_F(DiagnoseTest, TextAndMarkdownSayWhatWasSeenWhatItMeansAndWhatToCheck) {
  const std::string file = tables + "h100_8gpu_nvls_off.txt";
  const CommandOutcome text = invoke(folder_, {"diagnose", file, "-t", "dgx-h100"});
  EXPECT_EQ(text.code, 1);
  for (const char* part : {"unhealthy (", "1. NVLS is off", "seen:  busbw 36", "means: rings",
                           "check: NCCL_DEBUG=INFO", "ND H100 v5): 460 GB/s, missed"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
  const CommandOutcome ticket =
      invoke(folder_, {"diagnose", file, "--format", "markdown", "-o", "t.md"});
  EXPECT_EQ(ticket.code, 1);
  EXPECT_THAT(folder_.read("t.md"),
              HasSubstr("- **NVLS is off: the NVLink switches do not add** (`nvls_off`, "));
  const CommandOutcome csv = invoke(folder_, {"diagnose", file, "--format", "csv"});
  EXPECT_THAT(csv.out, HasSubstr("8589934592,"));
  EXPECT_THAT(csv.out, HasSubstr(",slow,\"nvls, Simple\",unhealthy,nvls_off\n"));
}

// 33 of 100 GB/s between nodes of ABCI's A100; inside a node, and on its V100, all is well.
TEST_F(DiagnoseTest, ARealTableOfAMisconfiguredNetworkIsUnhealthy) {
  const auto bad =
      json_of({shipped + "abci-a100-nccl.csv", "-t", "cluster:16xdgx-a100,adapters=4"}, 1);
  int unhealthy = 0;
  for (const nlohmann::json& table : bad["tables"]) {
    if (table["nodes"] > 1 && table["verdict"] == "unhealthy") ++unhealthy;
  }
  EXPECT_GE(unhealthy, 3);
  for (const nlohmann::json& table : bad["tables"]) {
    EXPECT_EQ(table["cause_group"].size() > 1, table["undecided"] != "") << table["cause_group"];
  }
  const auto good = json_of({shipped + "abci-v100-nccl.csv", "-t", "abci-v100"}, 0);
  EXPECT_EQ(good["verdict"], "healthy");
  EXPECT_EQ(good["tables"].size(), 6U);
  for (const nlohmann::json& table : good["tables"]) EXPECT_TRUE(table["cause_group"].empty());
}

// Its tables end at 32 MiB, where a share of the rate has many causes: none of them is said alone.
TEST_F(DiagnoseTest, CausesThatATableCannotTellApartAreSaidTogetherInEveryFormat) {
  const std::string file = shipped + "abci-a100-nccl.csv";
  const std::string machine = "cluster:16xdgx-a100,adapters=4";
  const nlohmann::json table = json_of({file, "-t", machine}, 1)["tables"].back();
  ASSERT_EQ(table["ranks"], 128);
  const auto group = table["cause_group"].get<std::vector<std::string>>();
  ASSERT_GE(group.size(), 2U);
  EXPECT_EQ(table["causes"][0]["cause"], group[0]);
  const std::string undecided = table["undecided"];
  EXPECT_THAT(undecided, HasSubstr("cannot be told from this table: " + group[0]));

  const CommandOutcome text = invoke(folder_, {"diagnose", file, "-t", machine});
  EXPECT_THAT(text.out, HasSubstr(": " + group[0] + " or " + group[1]));
  EXPECT_THAT(text.out, HasSubstr("; it cannot be told which\n"));
  EXPECT_THAT(text.out, HasSubstr(undecided));
  const CommandOutcome csv =
      invoke(folder_, {"diagnose", file, "-t", machine, "-o", "t.csv", "--format", "csv"});
  EXPECT_EQ(csv.code, 1);
  EXPECT_THAT(folder_.read("t.csv"), HasSubstr(",unhealthy," + group[0] + "|" + group[1]));
}

TEST_F(DiagnoseTest, IsJudgedByAHealthyTableOfTheSameSystemIfOneIsGiven) {
  const std::string was = tables + "h100_2x8_ring_healthy.txt";
  json_of({was, "--healthy", was}, 0);
  const auto now = json_of({tables + "h100_2x8_ring_no_gdr.txt", "--healthy", was}, 1);
  EXPECT_NEAR(now["tables"][0]["expected_busbw_GBps"].get<double>(), 365, 8);
  EXPECT_EQ(now["causes"][0], "gdr_off") << now["causes"];
  const CommandOutcome other =
      invoke(folder_, {"diagnose", was, "--healthy", tables + "h100_8gpu_healthy_nvls.txt"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("has 0 sizes of nccl on 16 ranks on 2 nodes in common with"));
}

// Ranks leave an all-reduce at different times, by as much at every size.
TEST_F(DiagnoseTest, TheLeastAndMostOfOsuAreOfRanksAndNoLateIterations) {
  std::string table =
      "# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_CHAR.\n"
      "# Size  Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations\n";
  for (int bytes = 4; bytes <= 1 << 16; bytes *= 2) {
    table += fmt::format("{0} {1:.2f} {2:.2f} {3:.2f} 1000\n", bytes, 6 + bytes / 5000.,
                         3.4 + bytes / 5000., 9.2 + bytes / 5000.);
  }
  folder_.write("skew.txt", table);
  const CommandOutcome outcome =
      invoke(folder_, {"diagnose", "skew.txt,ranks=16,nodes=16", "-t", "star:16,100Gbps,1us"});
  EXPECT_THAT(outcome.out, Not(HasSubstr("straggler"))) << outcome.err;
}

TEST_F(DiagnoseTest, SaysWhatATableCannotTell) {
  folder_.write("t.csv", "ranks,nodes,library,bytes,avg_us\n8,1,nccl,1024,13\n8,1,nccl,65536,15\n");
  const CommandOutcome outcome = invoke(folder_, {"diagnose", "t.csv", "-t", "dgx-h100"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("the table ends at 64 KiB: faults of bandwidth show from"));
}

// In sample, as the machine was fitted to the table.
TEST_F(DiagnoseTest, JudgesMpiByAMachineThatWasFitted) {
  const auto json =
      json_of({shipped + "abci-a100-mpi.csv", "-t", shipped + "abci-a100-mpi.toml"}, 0);
  EXPECT_EQ(json["verdict"], "healthy");
}

TEST_F(DiagnoseTest, JudgesOtherLibrariesByTheirExpectedTimes) {
  folder_.write("t.csv",
                "ranks,nodes,library,algorithm,bytes,avg_us\n"
                "8,8,mine,ring,1024,5000\n8,8,mine,ring,1048576,5300\n8,8,mine,ring,16777216,8000\n"
                "8,8,mine,ring,67108864,15000\n");
  const auto json = json_of({"t.csv", "-t", "star:8,100Gbps,5us"}, 1);
  EXPECT_EQ(json["causes"][0], "straggler");
}

TEST_F(DiagnoseTest, ThePageDrawsWhatIsExpectedWithoutScripts) {
  const std::string file = tables + "h100_8gpu_nvls_off.txt";
  EXPECT_EQ(invoke(folder_, {"diagnose", file, "--html", "p.html"}).code, 1);
  EXPECT_EQ(invoke(folder_, {"report", file, "--html", "q.html"}).code, 0);
  for (const char* page : {"p.html", "q.html"}) {
    const std::string html = folder_.read(page);
    for (const char* part : {"<section id=\"diagnosis\"", "<polygon class=\"band\"",
                             "NVLS is off: the NVLink switches do not add (nvls_off, "}) {
      EXPECT_THAT(html, HasSubstr(part)) << page;
    }
  }
}

// A table of a system at fault says nothing of the model, nor of the algorithms.
TEST_F(DiagnoseTest, ValidateAndReportTellOfAnUnhealthyTable) {
  const std::string bad = tables + "h100_8gpu_nvls_off.txt";
  const std::string good = tables + "h100_8gpu_healthy_nvls.txt";
  const std::string hint =
      "nvls_off, NVLS is off: the NVLink switches do not add; collbench diagnose ";
  EXPECT_THAT(invoke(folder_, {"validate", bad, "--machine", "dgx-h100"}).err, HasSubstr(hint));
  EXPECT_THAT(invoke(folder_, {"report", bad}).err, HasSubstr(hint));
  EXPECT_THAT(invoke(folder_, {"validate", good, "--machine", "dgx-h100"}).err,
              Not(HasSubstr("diagnose")));
  EXPECT_EQ(invoke(folder_, {"report", good}).err, "");
}

/// An OSU table with that latency and rate.
std::string osu_table(double latency_us, double rate_GBps) {
  std::string text = "# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n";
  for (std::int64_t bytes = 4; bytes <= 16 << 20; bytes *= 2) {
    const double us = latency_us + 1.875 * static_cast<double>(bytes) / (1e3 * rate_GBps);
    text += std::to_string(bytes) + "  " + std::to_string(us) + "\n";
  }
  return text;
}

// Expected is what the network allows at best; what MPI makes of it is known within a factor.
TEST_F(DiagnoseTest, AnOsuTableIsJudgedByTheNetworkAsFarAsThatGoes) {
  const std::string osu = "osu.txt,ranks=16,nodes=16";
  folder_.write("osu.txt", osu_table(20, 9));
  const CommandOutcome healthy = invoke(folder_, {"diagnose", osu, "-t", "star:16,100Gbps,3us"});
  EXPECT_EQ(healthy.code, 0) << healthy.out;
  EXPECT_THAT(healthy.err, HasSubstr("small faults cannot be told"));
  EXPECT_THAT(healthy.out, HasSubstr("mpi auto, 16 ranks on 16 nodes"));
  folder_.write("osu.txt", osu_table(25, 1.1));  // 10 Gb/s
  const auto slow = json_of({osu, "-t", "star:16,100Gbps,3us"}, 1);
  EXPECT_EQ(slow["causes"][0], "network_slow");
  folder_.write("osu.txt", osu_table(20, 9));
  EXPECT_THAT(invoke(folder_, {"diagnose", "osu.txt", "-t", "star:16,100Gbps,3us"}).err,
              HasSubstr("ranks="));
}

TEST_F(DiagnoseTest, AFileThatCannotBeJudgedIsNamedAndTheOthersAreJudged) {
  const std::string healthy = tables + "h100_8gpu_healthy_nvls.txt";
  folder_.write("osu.txt", osu_table(20, 9));
  const CommandOutcome beside = invoke(folder_, {"diagnose", "osu.txt", healthy});
  EXPECT_EQ(beside.code, 6);
  EXPECT_THAT(beside.out, HasSubstr("healthy (100 %)"));
  EXPECT_THAT(beside.err, HasSubstr("not judged: osu.txt: how many ranks is not said in it"));
  EXPECT_EQ(invoke(folder_, {"diagnose", "osu.txt", tables + "h100_2x8_ring_no_gdr.txt"}).code, 1);
  EXPECT_EQ(invoke(folder_, {"diagnose", "osu.txt"}).code, 2);
}

TEST_F(DiagnoseTest, WhatIsFasterThanTheLinksCarryIsOfAnotherMachine) {
  folder_.write("osu.txt", osu_table(8, 1.5));
  const auto json = json_of({"osu.txt,ranks=8,nodes=8", "-t", "ethernet-10g:8"}, 6);
  EXPECT_EQ(json["verdict"], "undecided");
  EXPECT_THAT(json["tables"][0]["untold"].get<std::string>(),
              HasSubstr("more than the links of ethernet-10g:8 carry, 1.25 GB/s of a host"));
}

TEST_F(DiagnoseTest, HalfOfTheRateIsNoLlWhereThatReachesFarLess) {
  std::string csv = "ranks,nodes,library,bytes,avg_us\n";
  for (int doublings = 20; doublings <= 33; ++doublings) {
    const double bytes = std::exp2(doublings);
    csv += fmt::format("32,4,nccl,{:.0f},{:.1f}\n", bytes, 60 + 1.9375 * bytes / 180e3);
  }
  folder_.write("half.csv", csv);
  const auto json = json_of({"half.csv", "-t", "cluster:4xdgx-h100"}, 1);
  EXPECT_NE(json["causes"][0], "ll_at_large") << json["causes"];
}

TEST_F(DiagnoseTest, RefusesWhatItCannotJudge) {
  folder_.write("t.csv", "ranks,nodes,library,bytes,avg_us\n8,1,nccl,1024,13\n");
  const CommandOutcome unknown = invoke(folder_, {"diagnose", "t.csv"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("the table does not say its hardware; name it with --topo"));
  const CommandOutcome absent = invoke(folder_, {"diagnose", "absent.txt", "-t", "dgx-h100"});
  EXPECT_EQ(absent.code, 4);
  const CommandOutcome format = invoke(folder_, {"diagnose", "t.csv", "--format", "xml"});
  EXPECT_EQ(format.code, 2);
  EXPECT_THAT(format.err, HasSubstr("markdown"));
}

// A health check of many hosts appends their runs to one log.
TEST_F(DiagnoseTest, RunsBehindEachOtherAreCasesOfTheirOwn) {
  const std::string well = read_file(tables + "h100_8gpu_healthy_nvls.txt");
  std::string other = read_file(tables + "h100_8gpu_nvls_off.txt");
  for (std::size_t at = 0; (at = other.find("synth-a", at)) != other.npos;) {
    other.replace(at, 7, "other-b");
  }
  folder_.write("log.txt", well + "\n" + other);
  const auto json = json_of({"log.txt"}, 1)["tables"];
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["table"], "log.txt, run 1 on synth-a");
  EXPECT_EQ(json[0]["verdict"], "healthy");
  EXPECT_EQ(json[1]["table"], "log.txt, run 2 on other-b");
  EXPECT_EQ(json[1]["verdict"], "unhealthy");
  // Of one run nobody asks which.
  folder_.write("one.txt", other);
  EXPECT_EQ(json_of({"one.txt"}, 1)["tables"][0]["table"], "one.txt");
}

// The curve of no known fault, ten times as slow as it should be.
TEST_F(DiagnoseTest, FarTooSlowIsUnhealthyWhateverTheCurve) {
  std::string csv = "ranks,nodes,library,bytes,avg_us\n";
  for (int doublings = 26; doublings <= 33; ++doublings) {
    const double bytes = std::exp2(doublings);
    csv += fmt::format("8,1,nccl,{:.0f},{:.1f}\n", bytes, 1e6 * 1.75 * bytes / 48e9);
  }
  folder_.write("t.csv", csv);
  const auto slow = json_of({"t.csv", "-t", "dgx-h100"}, 1);
  EXPECT_EQ(slow["verdict"], "unhealthy");
  folder_.write("osu.csv",
                "ranks,nodes,library,bytes,avg_us\n16,2,mine,1048576,700\n"
                "16,2,mine,4194304,2600\n16,2,mine,16777216,10600\n");
  EXPECT_EQ(json_of({"osu.csv", "-t", "cluster:2xdgx-h100"}, 1)["verdict"], "unhealthy");
  folder_.write("one.csv", "ranks,nodes,library,bytes,avg_us\n16,2,mine,16777216,10600\n");
  EXPECT_EQ(json_of({"one.csv", "-t", "cluster:2xdgx-h100"}, 1)["verdict"], "unhealthy");
}

TEST_F(DiagnoseTest, ByAHealthyTableASmallDelayShows) {
  const std::string was = tables + "h100_2x8_ring_healthy.txt";
  const auto healthy = json_of({was}, 0)["tables"][0]["sizes"];
  std::string csv = "ranks,nodes,library,bytes,avg_us\n";
  for (const auto& size : healthy) {
    csv += fmt::format("16,2,nccl,{},{}\n", size["bytes"].get<std::int64_t>(),
                       size["measured_us"].get<double>() + 200);
  }
  folder_.write("late.csv", csv);
  const auto late = json_of({"late.csv", "-t", "cluster:2xdgx-h100", "--healthy", was}, 1);
  EXPECT_EQ(late["causes"][0], "straggler") << late["causes"];
}

TEST_F(DiagnoseTest, WrongResultsAreNotHealthy) {
  std::string text = read_file(tables + "h100_8gpu_healthy_nvls.txt");
  const std::size_t row = text.find("  1073741824 ");
  ASSERT_NE(row, text.npos);
  const std::size_t end = text.find('\n', row);
  const std::size_t wrong = text.rfind('0', end);
  text.replace(wrong, 1, "7");
  folder_.write("t.txt", text);
  const CommandOutcome outcome = invoke(folder_, {"diagnose", "t.txt"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 of 62 rows have wrong results (1 GiB)"));

  const std::size_t first_row = text.find("           8 ");
  folder_.write("all.txt",
                text.substr(0, first_row) + "8 2 float sum -1 21.8 0.00 0.00 7 22.2 0.00 0.00 7\n");
  const CommandOutcome all = invoke(folder_, {"diagnose", "all.txt"});
  EXPECT_EQ(all.code, 3);
  EXPECT_THAT(all.err, HasSubstr("no right result to diagnose"));
}

TEST_F(DiagnoseTest, AMachineThatTheTableIsNotOfIsNoted) {
  const std::string file = tables + "h100_8gpu_healthy_nvls.txt";
  const CommandOutcome other = invoke(folder_, {"diagnose", file, "-t", "dgx-a100"});
  EXPECT_THAT(other.err, HasSubstr("which are not those of dgx-a100: is --topo right?"));
  EXPECT_THAT(other.out, HasSubstr("times as fast as dgx-a100 should be"));
  const CommandOutcome own = invoke(folder_, {"diagnose", file, "-t", "dgx-h100"});
  EXPECT_THAT(own.err + own.out, Not(AnyOf(HasSubstr("is --topo"), HasSubstr("times as fast"))));
}

// AWS p4de, of which the table says the GPUs and not the adapters: not the half of a DGX's.
TEST_F(DiagnoseTest, AVerdictThatDependsOnTheMachineIsNotTold) {
  folder_.write("t.csv",
                "# hardware: NVIDIA A100-SXM4-80GB\n" + read_file(shipped + "aws-p4de-nccl.csv"));
  const auto json = json_of({"t.csv"}, 6);
  EXPECT_EQ(json["verdict"], "undecided");
  EXPECT_TRUE(json["causes"].empty());
  EXPECT_TRUE(json["tables"][0]["sure"].is_null());
  EXPECT_THAT(json["tables"][0]["untold"].get<std::string>(),
              HasSubstr("healthy if it is aws-p4d"));
  const CommandOutcome text = invoke(folder_, {"diagnose", "t.csv"});
  EXPECT_THAT(text.out, HasSubstr("cannot be told: unhealthy ("));
  EXPECT_THAT(invoke(folder_, {"report", "t.csv"}).err, HasSubstr("cannot be told: unhealthy ("));
  EXPECT_EQ(json_of({"t.csv", "-t", "aws-p4de"}, 0)["verdict"], "healthy");
  for (const char* name : {"2x AWS p4de.24xlarge (8x A100-SXM4-80GB)", "A100, aws-p4de"}) {
    folder_.write("t.csv", "# hardware: " + std::string(name) + "\n" +
                               read_file(shipped + "aws-p4de-nccl.csv"));
    EXPECT_EQ(json_of({"t.csv"}, 0)["verdict"], "healthy") << name;
  }
  EXPECT_THAT(invoke(folder_, {"diagnose", "--help"}).out,
              HasSubstr("Exit code 0: healthy, 1: unhealthy, 3: wrong results"));
}

TEST_F(DiagnoseTest, RefusesTwoFormats) {
  const CommandOutcome two =
      invoke(folder_, {"diagnose", tables + "h100_8gpu_nvls_off.txt", "--json", "--format", "csv"});
  EXPECT_EQ(two.code, 2);
  EXPECT_THAT(two.err, HasSubstr("--json is short for --format json, and --format is csv"));
}

}  // namespace
}  // namespace collbench

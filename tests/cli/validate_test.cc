// `collbench validate` and what `simulate` and `select` say of NCCL: errors with their sign, and
// what was taken to have been played.
#include <cstdint>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

const std::string published = COLLBENCH_SOURCE_DIR "/results/published/";

class ValidateTest : public testing::Test {
 protected:
  std::string out(const std::vector<std::string>& arguments) {
    const CommandOutcome outcome = invoke(folder_, arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  std::string refused(const std::vector<std::string>& arguments) {
    const CommandOutcome outcome = invoke(folder_, arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    return outcome.err;
  }
  RunFolder folder_;
};

// In sample: the constants were fitted with these tables among others.
TEST_F(ValidateTest, PublishedTablesArePredictedFromMachinesThatWereNotFitted) {
  for (const auto& [table, machine] :
       {std::pair{"aws-p5-nccl.csv", "aws-p5"}, std::pair{"aws-p4de-nccl.csv", "aws-p4d"},
        std::pair{"dgx-a100-nccl.csv", "dgx-a100"}}) {
    const auto json = parse_json<nlohmann::json>(
        out({"validate", published + table, "--machine", machine, "--json"}));
    const nlohmann::json& all = json.back();
    EXPECT_LT(all["median"].get<double>(), 0.15) << table;
    EXPECT_LT(all["p90"].get<double>(), 0.40) << table;
    EXPECT_LE(std::abs(all["bias"].get<double>()), all["median"].get<double>()) << table;
    EXPECT_FALSE(all["assumed"].empty()) << table;
  }
}

TEST_F(ValidateTest, ShowsTheSignAndWhatIsAssumed) {
  // Twice the time that is predicted for one of these sizes, and half of it for the other.
  folder_.write("t.csv", "ranks,nodes,library,bytes,avg_us\n8,1,nccl,1024,32\n");
  const std::string fast = out({"validate", "t.csv", "--machine", "dgx-h100", "--points"});
  EXPECT_THAT(fast, HasSubstr(" | as ring, LL"));
  EXPECT_THAT(fast,
              HasSubstr("# t.csv, nccl auto, 8 ranks on 1 node assumed as ring, LL (1 point)"));
  EXPECT_THAT(fast, HasSubstr("bias"));
  EXPECT_THAT(fast, MatchesRegex("(.|\n)*\nall +1 +[0-9.]+ / [0-9.]+ +-[0-9.]+ (.|\n)*"));
  folder_.write("t.csv", "ranks,nodes,library,bytes,avg_us\n8,1,nccl,1024,4\n");
  const std::string slow = out({"validate", "t.csv", "-t", "dgx-h100"});
  EXPECT_THAT(slow, MatchesRegex("(.|\n)*\nall +1 +[0-9.]+ / [0-9.]+ +\\+[0-9.]+ (.|\n)*"));
  EXPECT_THAT(slow, HasSubstr("# the 80 % intervals hold 0.0 % of the points"));
  folder_.write("t.csv", "ranks,nodes,library,bytes,avg_us\n8,1,nccl,1024,13\n");
  EXPECT_THAT(out({"validate", "t.csv", "--machine", "dgx-h100"}),
              HasSubstr("# the 80 % intervals hold 100.0 % of the points"));
}

TEST_F(ValidateTest, ALibraryIsKnownWithItsVersion) {
  folder_.write("t.csv", "ranks,nodes,library,bytes,avg_us\n8,1,NCCL 2.20.5,1024,32\n");
  EXPECT_THAT(out({"validate", "t.csv", "-t", "dgx-h100", "--points"}),
              HasSubstr(" | as ring, LL"));
}

TEST_F(ValidateTest, ASizeThatNamesARangeIsInIt) {
  folder_.write("t.csv", "ranks,nodes,library,bytes,avg_us\n8,1,nccl,32768,30\n");
  const std::string text = out({"validate", "t.csv", "--topo", "dgx-h100"});
  EXPECT_THAT(text,
              MatchesRegex("(.|\n)*\nall +1 +[0-9./ +-]+ +[0-9.]+ / [0-9.]+ +- +- +-\n(.|\n)*"));
}

TEST_F(ValidateTest, NodesThatAreGivenReplaceThoseOfTheTable) {
  folder_.write("t.csv", "# nodes: 1\nranks,library,bytes,avg_us\n16,nccl,1024,40\n");
  EXPECT_EQ(invoke(folder_, {"validate", "t.csv", "--machine", "dgx-h100"}).code, 2)
      << "16 on one node";
  const CommandOutcome outcome =
      invoke(folder_, {"validate", "t.csv,nodes=2", "--machine", "dgx-h100"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("16 ranks on 2 nodes"));
  EXPECT_THAT(outcome.err, HasSubstr("1 nodes are stated; taken as 2, which was given"));
}

TEST_F(ValidateTest, OtherCollectivesAreReadFromFormatsThatAreNamed) {
  folder_.write("t.txt", "# OSU MPI Alltoall Latency Test v7.3\n# Size  Avg Latency(us)\n8 2\n");
  EXPECT_THAT(
      refused({"validate", "t.txt", "-t", "dgx-h100", "--collective", "all-gather"}),
      HasSubstr("rows of all-gather are read from tables of nccl-tests, rccl-tests, OSU and "
                "IMB, our own records and CSV with a column 'collective'"));
}

/// Rows of all_gather_perf on 8 ranks of a node, whose count is that of one of them.
std::string gather_table(double slowness) {
  std::string text = "# Collective test starting: all_gather_perf\n";
  for (std::int64_t bytes = 1 << 20; bytes <= 256 << 20; bytes *= 2) {
    text += fmt::format("{} {} float none -1 {:.2f} 0.00 0.00 0\n", bytes, bytes / 32,
                        slowness * (20 + static_cast<double>(bytes) / 3e5));
  }
  return text;
}

// Its model of NCCL is of all-reduces: that of another collective would be judged by them.
TEST_F(ValidateTest, OtherCollectivesOfNcclAreJudgedByFitsAndNotByTheModelOfItsAllReduce) {
  const std::vector<std::string> gather = {"--collective", "all-gather"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), gather.begin(), gather.end());
    return words;
  };
  folder_.write("t.txt", gather_table(1));
  folder_.write("slow.txt", gather_table(1.25));
  folder_.write("t.csv", "ranks,nodes,library,collective,bytes,avg_us\n8,1,nccl,all-gather,8,9\n");
  for (const char* table : {"t.txt", "t.csv"}) {
    EXPECT_THAT(refused(with({"validate", table, "-t", "dgx-h100"})),
                HasSubstr("what NCCL takes for all-gather on a machine is not modelled, only for "
                          "all-reduce; a fit to tables of it predicts it: --fit FILE"));
  }
  out(with({"calibrate", "t.txt", "-o", "m.toml"}));
  const auto json =
      parse_json<nlohmann::json>(out(with({"validate", "slow.txt", "-t", "m.toml", "--json"})));
  EXPECT_EQ(json.back()["points"], 9);
  EXPECT_NEAR(json.back()["bias"].get<double>(), 1 / 1.25 - 1, 0.02);
  EXPECT_THAT(out(with({"regret", "t.txt,algorithm=ring", "slow.txt,algorithm=tree"})),
              HasSubstr("oracle"));
}

TEST_F(ValidateTest, SimulateKnowsWhatTheLibraryWouldPlay) {
  const auto sizes = [&](const std::string& algorithms) {
    return out({"simulate", "--algo", algorithms, "-t", "cluster:2xdgx-h100", "-W", "16", "-b",
                "256M", "-e", "256M", "--format", "json"});
  };
  const auto time = [](const nlohmann::json& record) {
    return record["latency_ns"].at(0).get<double>();
  };
  const auto records = parse_json<nlohmann::json>(sizes("nccl,nccl:ring,nvls-tree"))["records"];
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(time(records[0]), time(records[2])) << "NVLS tree is its choice there";
  EXPECT_GT(time(records[1]), 1.1 * time(records[0]));
  const CommandOutcome unknown =
      invoke(folder_, {"simulate", "--algo", "nccl:star", "-t", "dgx-h100", "-b", "1M"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("NCCL has no 'star'; it has ring, tree, nvls"));
}

TEST_F(ValidateTest, SimulateSaysWhichTimesOfAFileAreByItsFit) {
  out({"calibrate", published + "abci-a100-nccl.csv", "-o", "m.toml"});
  const auto explained = [&](const char* algorithm) {
    return out(
        {"simulate", "--algo", algorithm, "-t", "cluster:4xm.toml", "-b", "1M", "--explain"});
  };
  EXPECT_THAT(explained("nccl"), HasSubstr("nccl (by the fit)"));
  for (const char* algorithm : {"nccl:ring", "ring"}) {
    EXPECT_THAT(explained(algorithm), HasSubstr("not by its fit")) << algorithm;
  }
  const CommandOutcome both =
      invoke(folder_, {"simulate", "--algo", "nccl,ring", "-t", "cluster:4xm.toml", "-b", "1M"});
  EXPECT_THAT(both.err, HasSubstr("by the fit of the file: nccl; played on its plain machine: "
                                  "ring; the two do not compare"));
}

TEST_F(ValidateTest, RingsOverWiresFillAMeshThatRanksInOrderDoNot) {
  const auto json = parse_json<nlohmann::json>(
      out({"select", "-t", "mi300x", "-W", "8", "-b", "256M", "-p", "model", "--format", "json"}));
  std::map<std::string, double> expected;
  for (const nlohmann::json& candidate : json["candidates"]) {
    if (candidate.contains("expected_us")) {
      expected[candidate["algorithm"]] = candidate["expected_us"].get<double>();
    }
  }
  ASSERT_TRUE(expected.contains("ring:orders=wires"));
  EXPECT_GT(expected.at("ring"), 5 * expected.at("ring:orders=wires"));
  EXPECT_THAT(
      out({"simulate", "--algo", "ring:channels=4", "-t", "dgx-h100", "-b", "1M", "-e", "1M"}),
      HasSubstr("ring:channels=4"));
}

TEST_F(ValidateTest, SelectNamesTheBestChoiceInsideNccl) {
  const std::string text = out({"select", "-t", "cluster:2xdgx-h100", "-W", "16", "-b", "1M"});
  EXPECT_THAT(text, HasSubstr("inside NCCL: its tuner takes double-tree, LL"));
  EXPECT_THAT(text, HasSubstr("; fastest of all it has: "));
  EXPECT_THAT(out({"select", "-t", "star:8,100Gbps,5us", "-W", "8"}),
              Not(HasSubstr("inside NCCL")));
  const auto json = parse_json<nlohmann::json>(
      out({"select", "-t", "dgx-h100", "-W", "8", "-b", "64M", "--format", "json"}));
  EXPECT_EQ(json["inside_nccl"]["tuner"]["algorithm"], "nvls");
  EXPECT_GT(json["inside_nccl"]["tuner"]["expected_us"].get<double>(), 0);
  EXPECT_LE(json["inside_nccl"]["fastest"]["expected_us"].get<double>(),
            json["inside_nccl"]["tuner"]["expected_us"].get<double>());
}

TEST_F(ValidateTest, TimesThatNoGpuReachesAreRefused) {
  const std::string heading = "library,algorithm,ranks,nodes,bytes,median_us\n";
  const auto table = [&](const std::string& library) {
    std::string text = heading;
    for (const int mebi : {1, 4, 16, 64}) {
      text += library + ",ring,8,1," + std::to_string(mebi << 20) + "," +
              std::to_string(1 + mebi * 0.13) + "\n";  // 8 TB/s
    }
    return text;
  };
  folder_.write("gpus.csv", table("nccl"));
  folder_.write("threads.csv", table("shm"));
  EXPECT_THAT(refused({"calibrate", "gpus.csv"}), HasSubstr("which nothing reaches"));
  out({"calibrate", "threads.csv"});
}

TEST_F(ValidateTest, TablesOfOneFileNameAreNotAddedUp) {
  for (const std::string& folder : {"a", "b"}) {
    std::filesystem::create_directories(folder_.path() + "/" + folder);
    folder_.write(folder + "/out.csv",
                  "library,algorithm,ranks,nodes,bytes,median_us\nnccl,auto,8,1,1048576,60\n");
  }
  const std::string text = out({"validate", "a/out.csv", "b/out.csv", "--machine", "dgx-h100"});
  EXPECT_THAT(text, AllOf(HasSubstr("a/out.csv"), HasSubstr("b/out.csv")));
}

TEST_F(ValidateTest, TimesInAnotherUnitAreRefused) {
  const std::string heading = "system,library,algorithm,nodes,tasks_per_node,bytes,median_us\n";
  const auto table = [&](double factor, int nodes) {
    std::string text;
    for (const int bytes : {1024, 16384, 262144, 4194304}) {
      text += "s,mpi,ring," + std::to_string(nodes) + ",1," + std::to_string(bytes) + "," +
              std::to_string(factor * (10 + bytes * 1e-3)) + "\n";
    }
    return text;
  };
  folder_.write("units.csv", heading + table(1, 8) + table(1000, 16));
  EXPECT_THAT(refused({"calibrate", "units.csv"}),
              AllOf(HasSubstr("16 ranks on 16 nodes took at least 1e+03 times as long as 8 ranks"),
                    HasSubstr("must be in microseconds")));
  folder_.write("fast.csv", heading + table(1e-6, 8));
  EXPECT_THAT(refused({"calibrate", "fast.csv"}), HasSubstr("which nothing reaches"));
}

}  // namespace
}  // namespace collbench

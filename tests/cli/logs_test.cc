// `collbench logs`: a job's log in full, its forms, its exit codes, and what goes on with it.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string samples = COLLBENCH_SOURCE_DIR "/tests/bench/job_logs/";

class LogsTest : public testing::Test {
 protected:
  std::string out(const std::vector<std::string>& arguments, int code = 0) {
    const CommandOutcome outcome = invoke(folder_, arguments);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return outcome.out;
  }
  std::string refused(const std::vector<std::string>& arguments, int code = 2) {
    const CommandOutcome outcome = invoke(folder_, arguments);
    EXPECT_EQ(outcome.code, code) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  }
  RunFolder folder_;
};

TEST_F(LogsTest, AFolderOfOneJobIsAnsweredFirst) {
  EXPECT_THAT(out({"logs", samples + "inspector/late_rank"}),
              AllOf(StartsWith("# NCCL Inspector: 4 files, 48 records of 1 communicator\n"
                               "network: healthy: "),
                    HasSubstr("\nlate rank: 2: last in 12 of 12 operations\n"),
                    HasSubstr("(straggler, 99 %)")));
  const json late = parse_json<json>(out({"logs", samples + "inspector/late_rank", "--json"}));
  EXPECT_EQ(late["late"], 2);
  EXPECT_EQ(late["network"], "healthy");
}

TEST_F(LogsTest, CheckEndsWithOneForWhatHoldsTheJobUp) {
  out({"logs", samples + "inspector/healthy", "--check"}, 0);
  out({"logs", samples + "inspector/slow_network", "--check"}, 1);
  out({"logs", samples + "flight_recorder/hang_pickle", "--check"}, 1);
  out({"logs", samples + "inspector/healthy", "--check", "--expect-busbw", "200"}, 1);
}

TEST_F(LogsTest, LogsOfWhichNothingCanBeUsedAreAnError) {
  folder_.write("h0-pid1.log",
                R"({"header":{"id":"0x1","rank":0,"n_ranks":2,"nnodes":2},"metadata":{)"
                R"("inspector_output_format_version":"v4.2","hostname":"h0","pid":1},"coll_perf":{)"
                R"("coll":"AllReduce","coll_sn":0,"coll_msg_size_bytes":4096,)"
                R"("coll_exec_time_us":9,"coll_timing_source":"collective_cpu"}})"
                "\n");
  EXPECT_THAT(refused({"logs", "h0-pid1.log"}),
              HasSubstr("nothing can be used of 1 file: 1 x Inspector records"));
}

TEST_F(LogsTest, ATextWithoutAnOperationIsAnError) {
  folder_.write("notes.txt", "notes on collprof\n");
  EXPECT_THAT(refused({"logs", "notes.txt", "--check"}),
              HasSubstr("notes.txt: the log of none of"));
  folder_.write("pmpi.txt", "# collprof 0.9 output file\n# host: a\n");
  EXPECT_THAT(refused({"logs", "pmpi.txt"}),
              HasSubstr("nothing can be used of 1 file: no operation"));
}

TEST_F(LogsTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(refused({"logs", "missing.log"}, 4), HasSubstr("cannot read 'missing.log'"));
  folder_.write("table.csv", "a,b\n1,2\n");
  EXPECT_THAT(refused({"logs", "table.csv"}), HasSubstr("table.csv: the log of none of"));
  EXPECT_THAT(refused({"logs", "."}), HasSubstr("table.csv: the log of none of"));
  const std::string job = samples + "inspector/healthy";
  EXPECT_THAT(refused({"logs", job, "--expect-busbw", "fast"}), HasSubstr("--expect-busbw: "));
  EXPECT_THAT(refused({"logs", job, "--expect-busbw", "0"}), HasSubstr("must be above 0"));
  EXPECT_THAT(refused({"logs", job, "--topo", "no-such-machine"}), HasSubstr("no-such-machine"));
}

TEST_F(LogsTest, OnAMachineTheChoiceHasAPredictedTimeAndARegret) {
  const json found = parse_json<json>(
      out({"logs", samples + "inspector/slow_network", "--topo", "cluster:2xdgx-a100", "--json"}));
  EXPECT_EQ(found["network"], "slow");
  const json& row = found["communicators"][0]["sizes"][1];
  EXPECT_EQ(row["algorithm"], "ring");
  EXPECT_GT(row["predicted_us"].get<double>(), 0);
  EXPECT_LE(row["best_us"], row["predicted_us"]);
  EXPECT_NEAR(row["regret"].get<double>(),
              row["predicted_us"].get<double>() / row["best_us"].get<double>() - 1, 1e-2);
  const std::string rules =
      out({"logs", samples + "inspector/slow_network", "--topo", "cluster:2xdgx-a100", "--markdown",
           "ticket.md", "--export-tuner", "tuner.csv"});
  EXPECT_THAT(folder_.read("tuner.csv"), HasSubstr("allreduce,"));
  EXPECT_THAT(folder_.read("ticket.md"), HasSubstr("**the network is slower"));
  EXPECT_EQ(invoke(folder_, {"logs", samples + "inspector/healthy", "--export-tuner", "-"}).code, 2)
      << "rules are of a machine";
}

TEST_F(LogsTest, AFileThatCannotBeWrittenKeepsNoneOfTheOthersBack) {
  const CommandOutcome outcome = invoke(
      folder_, {"logs", samples + "inspector/slow_network", "--topo", "cluster:2xdgx-a100", "--csv",
                "no/folder/rows.csv", "--html", "no/page.html", "--export-rules", "rules"});
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("rows.csv"), HasSubstr("page.html")));
  EXPECT_THAT(folder_.read("rules"), HasSubstr("# all-reduce"));
}

TEST_F(LogsTest, AStepOfTheJobIsReplayedAtAnotherScale) {
  out({"logs", samples + "inspector/late_rank", "-o", "step.csv"});
  EXPECT_THAT(folder_.read("step.csv"),
              AllOf(HasSubstr("# parameters: 21757952"), HasSubstr("bucket0,bucket,6553600,0,0,"),
                    HasSubstr("bucket3,bucket,2097152,0,0,")));
  const std::string step =
      out({"train", "--workload", "./step.csv", "--topo", "star:16,100Gbps,5us", "--workers", "16",
           "--batch", "16", "--algo", "ring"});
  EXPECT_THAT(step, HasSubstr("exposed communication"));
}

TEST_F(LogsTest, SimulateReplaysTheLogsThemselvesOnOtherNetworksWithOtherAlgorithms) {
  const std::vector<std::string> replay = {"simulate",
                                           "--workload",
                                           samples + "inspector/late_rank",
                                           "--topo",
                                           "star:4,368Gbps,5us;star:16,368Gbps,5us",
                                           "--algo",
                                           "ring,recursive-doubling"};
  const std::string table = out(replay);
  EXPECT_THAT(table,
              AllOf(StartsWith("# one step of the job: 4 all-reduces of 83 MiB"),
                    HasSubstr("\nas recorded"), HasSubstr("with its waiting for other ranks")));
  std::vector<std::string> arguments = replay;
  arguments.insert(arguments.end(), {"--json", "-"});
  const json steps = parse_json<json>(out(arguments));
  ASSERT_EQ(steps.size(), 5U);
  const auto ms = [&](std::size_t step, const char* key) { return steps[step][key].get<double>(); };
  // 25 MiB three times and 8 MiB once, transfers alone.
  EXPECT_NEAR(ms(0, "communication_ms"), 3.091, 0.03);
  EXPECT_NEAR(ms(1, "communication_ms"), ms(0, "communication_ms"), 0.2) << "46 GB/s, 4 ranks";
  EXPECT_GT(ms(3, "communication_ms"), 1.1 * ms(1, "communication_ms")) << "16 ranks";
  EXPECT_GT(ms(2, "communication_ms"), 1.2 * ms(1, "communication_ms")) << "another algorithm";
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_LE(ms(i, "exposed_ms"), ms(i, "communication_ms") + 1e-9);
    EXPECT_GE(ms(i, "step_ms"), ms(i, "exposed_ms"));
  }
}

TEST_F(LogsTest, ReplaysWithoutTimesCountAllAsExposed) {
  const std::string table = out({"simulate", "--workload", samples + "nccl_debug/healthy.log",
                                 "--topo", "star:4,100Gbps,5us", "--algo", "ring"});
  EXPECT_THAT(table, AllOf(HasSubstr("all counts as exposed"), HasSubstr("star:4,100Gbps,5us")));
  EXPECT_THAT(refused({"simulate", "--workload", "missing/", "--topo", "star:4,100Gbps,5us"}, 4),
              HasSubstr("missing/"));
}

TEST_F(LogsTest, WritesAPage) {
  out({"logs", samples + "inspector/late_rank", "--html", "job.html"});
  EXPECT_THAT(folder_.read("job.html"), HasSubstr("Late rank: 2"));
}

TEST_F(LogsTest, WhatRanksDidHereIsReadBackInTwoFormats) {
  out({"run", "--algo", "ring", "-W", "4", "-b", "64K", "-e", "64K", "-n", "16", "-w", "0",
       "--rank-times", "--inject", "late:rank=1:every=1:time=100ms", "--json", "run.json"});
  EXPECT_EQ(parse_json<json>(out({"logs", "run.json", "--json", "--inspector", "i",
                                  "--flight-recorder", "f"}))["late"],
            1);
  for (const char* folder : {"i", "f"}) {
    const json found = parse_json<json>(out({"logs", folder, "--json"}));
    EXPECT_EQ(found["late"], 1) << folder;
    EXPECT_EQ(found["ops"], 16) << folder;
    EXPECT_EQ(found["bytes"], 16 * 65536) << folder;
  }
  out({"run", "--algo", "ring", "-W", "2", "-b", "64K", "-e", "64K", "-n", "3", "--json",
       "b.json"});
  EXPECT_THAT(refused({"logs", "b.json"}), HasSubstr("measure with --rank-times"));
}

TEST_F(LogsTest, EveryFileThatIsNoLogIsNamed) {
  folder_.write("a.log", "");
  folder_.write("b.bin", "junk");
  std::filesystem::create_directory(folder_.path() + "/e");
  for (const char* name : {"a.log", "b.bin"}) {
    std::filesystem::rename(folder_.path() + "/" + name, folder_.path() + "/e/" + name);
  }
  EXPECT_THAT(refused({"logs", "e"}),
              AllOf(HasSubstr("e/a.log: is empty; left out: e/b.bin: the log of none of")));
}

}  // namespace
}  // namespace collbench

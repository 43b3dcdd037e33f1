// Sweeps as processes: killed, interrupted, spread over parts and joined again.
#include <algorithm>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// What a shell script needs to wait until a file has a number of lines.
constexpr const char* wait_for_lines =
    "lines() { until [ \"$(wc -l < \"$1\" 2>/dev/null || echo 0)\" -ge \"$2\" ]; do "
    "sleep 0.02; done; }\n";

class SweepTest : public testing::Test {
 protected:
  SweepTest() {
    folder_.write("small.toml",
                  "topo = \"star:{4,8},10Gbps,50us\"\nalgo = [\"ring\", \"tree\"]\n"
                  "minbytes = \"1K\"\nmaxbytes = \"1M\"\n");
    // Cases of milliseconds to a second, so that a signal meets a sweep that runs.
    folder_.write("long.toml",
                  "topo = \"star:{8,256,640},10Gbps,50us\"\nalgo = \"ring\"\nengine = \"fluid\"\n"
                  "minbytes = \"1K\"\nmaxbytes = \"64M\"\njobs = 1\n");
  }
  CommandOutcome sweep(std::vector<std::string> arguments,
                       const std::map<std::string, std::string>& environment = {}) {
    arguments.insert(arguments.begin(), "sweep");
    return invoke(folder_, arguments, environment);
  }
  /// A script that knows `collbench` and `lines FILE N`.
  CommandOutcome shell(const std::string& script) {
    return invoke_program(folder_, "bash",
                          {"-c", "collbench() { exec " COLLBENCH_BINARY " \"$@\"; }\n" +
                                     std::string(wait_for_lines) + script});
  }
  /// Cases and exact times of a file of records, one line each, in its order.
  std::string figures(const std::string& file) {
    const CommandOutcome outcome = invoke_program(
        folder_, "python3",
        {"-c",
         "import json, sys\n"
         "text = open(sys.argv[1]).read()\n"
         "try: records = json.loads(text)['records']\n"
         "except ValueError: records = [json.loads(l) for l in text.splitlines()[1:]]\n"
         "for r in records: print(json.dumps(r['case'], sort_keys=True), r['exact']['time_s'])\n",
         file});
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }
  static long count_lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  }
  RunFolder folder_;
};

TEST_F(SweepTest, AFileOfARunIsNotFilled) {
  ASSERT_EQ(
      invoke(folder_, {"-A", "ring", "-b", "1K", "-e", "1K", "-n", "5", "--json", "run.json"}).code,
      0);
  const std::string before = folder_.read("run.json");
  const CommandOutcome refused = sweep({"small.toml", "-o", "run.json"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("'run.json' has records of a run, not of a sweep"));
  EXPECT_EQ(folder_.read("run.json"), before);
}

TEST_F(SweepTest, TheRecordsDoNotDependOnTheNumberOfProcesses) {
  ASSERT_EQ(sweep({"small.toml", "-o", "one.jsonl", "-j", "1"}).code, 0);
  ASSERT_EQ(sweep({"small.toml", "-o", "three.jsonl", "-j", "3"}).code, 0);
  ASSERT_EQ(invoke(folder_, {"merge", "one.jsonl", "-o", "one.json"}).code, 0);
  ASSERT_EQ(invoke(folder_, {"merge", "three.jsonl", "-o", "three.json"}).code, 0);
  EXPECT_EQ(figures("one.json"), figures("three.json"));
  EXPECT_EQ(count_lines(figures("one.json")), 24);
}

TEST_F(SweepTest, AFinishedSweepSimulatesNothingAgain) {
  EXPECT_THAT(sweep({"small.toml", "-o", "out.jsonl"}).err, HasSubstr("24 of 24 cases simulated"));
  const std::string before = figures("out.jsonl");
  EXPECT_THAT(sweep({"small.toml", "-o", "out.jsonl"}).err,
              HasSubstr("0 of 24 cases simulated into 'out.jsonl', 24 were there"));
  EXPECT_EQ(figures("out.jsonl"), before);
  EXPECT_THAT(sweep({"small.toml", "-o", "out.jsonl", "--fresh"}).err,
              AllOf(HasSubstr("24 of 24 cases simulated"), Not(HasSubstr("were there"))));
}

TEST_F(SweepTest, AKilledSweepGoesOnWhereItEnded) {
  const CommandOutcome killed = shell(
      "collbench sweep long.toml -o out.jsonl & p=$!; lines out.jsonl 12; kill -9 $p; wait $p");
  EXPECT_EQ(killed.code, 128 + 9);
  const long kept = count_lines(figures("out.jsonl"));
  ASSERT_GE(kept, 11);
  ASSERT_LT(kept, 27);
  EXPECT_THAT(sweep({"long.toml", "-o", "out.jsonl", "-F", "workers<640"}).err,
              HasSubstr(" were there"));
  EXPECT_EQ(sweep({"long.toml", "-o", "out.jsonl"}).code, 0);
  EXPECT_EQ(count_lines(figures("out.jsonl")), 27);
}

TEST_F(SweepTest, ALineThatWasCutShortIsSimulatedAgain) {
  ASSERT_EQ(sweep({"small.toml", "-o", "out.jsonl"}).code, 0);
  const std::string whole = folder_.read("out.jsonl");
  folder_.write("out.jsonl", whole.substr(0, whole.size() - 100));
  EXPECT_THAT(sweep({"small.toml", "-o", "out.jsonl"}).err,
              HasSubstr("1 of 24 cases simulated into 'out.jsonl', 23 were there"));
}

TEST_F(SweepTest, AnInterruptKeepsWhatIsDoneAndSaysHowToGoOn) {
  const CommandOutcome stopped = shell(
      "collbench sweep long.toml -o out.jsonl & p=$!; lines out.jsonl 12; kill -TERM $p; wait $p");
  EXPECT_EQ(stopped.code, 143);
  EXPECT_THAT(stopped.err, HasSubstr("stopped by SIGTERM; the same command resumes"));
  EXPECT_GE(count_lines(figures("out.jsonl")), 11);
}

TEST_F(SweepTest, ACaseWhoseProcessDiesCostsOnlyItself) {
  const CommandOutcome outcome = shell(
      "collbench sweep long.toml -o out.jsonl & p=$!; lines out.jsonl 20;"
      "kill -KILL $(cat /proc/$p/task/$p/children); wait $p");
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("was killed by signal Killed"),
                                 HasSubstr("26 of 27 cases simulated"), HasSubstr("1 failed")));
  EXPECT_EQ(count_lines(figures("out.jsonl")), 26);
}

TEST_F(SweepTest, TwoProcessesDoNotFillOneFile) {
  const CommandOutcome outcome = shell(
      "collbench sweep long.toml -o out.jsonl & p=$!; lines out.jsonl 20; kill -STOP $p;"
      "(collbench sweep small.toml -o out.jsonl); echo code $?; kill -CONT $p; wait $p");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "code 4\n");
  EXPECT_THAT(outcome.err, HasSubstr("'out.jsonl' is being filled by another process"));
  EXPECT_EQ(count_lines(figures("out.jsonl")), 27);
}

TEST_F(SweepTest, PartsJoinToTheWhole) {
  ASSERT_EQ(sweep({"small.toml", "-o", "whole.jsonl"}).code, 0);
  for (const char* part : {"0/3", "1/3", "2/3"}) {
    ASSERT_EQ(sweep({"small.toml", "-o", "out.jsonl", "--shard", part}).code, 0);
  }
  ASSERT_EQ(invoke(folder_, {"merge", "whole.jsonl", "-o", "whole.json"}).code, 0);
  ASSERT_EQ(invoke(folder_, {"merge", "out.2-of-3.jsonl", "out.0-of-3.jsonl", "out.1-of-3.jsonl",
                             "-o", "joined.json"})
                .code,
            0);
  EXPECT_EQ(figures("joined.json"), figures("whole.json"));
  const CommandOutcome some =
      invoke(folder_, {"merge", "out.2-of-3.jsonl", "out.0-of-3.jsonl", "-o", "some.json"});
  EXPECT_EQ(some.code, 0);
  EXPECT_THAT(some.err, HasSubstr("warning: part 1 of a sweep in 3 is not among the files"));
}

TEST_F(SweepTest, PartsThatContradictEachOtherAreRefused) {
  ASSERT_EQ(sweep({"small.toml", "-o", "one.jsonl"}).code, 0);
  std::string other = folder_.read("one.jsonl");
  const std::size_t time = other.find("\"time_s\":0.0") + 9;
  other[time] = '1';
  other = std::regex_replace(other, std::regex(R"re(,"crc32c":"\w+")re"), "");
  folder_.write("other.jsonl", other);
  const CommandOutcome outcome =
      invoke(folder_, {"merge", "one.jsonl", "other.jsonl", "-o", "out.json"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("'one.jsonl'"), HasSubstr("'other.jsonl'"),
                                 HasSubstr("simulated times must be equal")));
}

struct Launched {
  std::map<std::string, std::string> environment;
  std::string shard;
  std::string part;  // as the closing line says it
};

class LauncherTest : public SweepTest, public testing::WithParamInterface<Launched> {};

TEST_P(LauncherTest, SaysWhichPartThisIs) {
  const CommandOutcome outcome =
      sweep({"small.toml", "-o", "out.jsonl", "--shard", GetParam().shard}, GetParam().environment);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().part));
}

INSTANTIATE_TEST_SUITE_P(
    Launchers, LauncherTest,
    testing::Values(
        Launched{{{"SLURM_ARRAY_TASK_ID", "7"},
                  {"SLURM_ARRAY_TASK_MIN", "5"},
                  {"SLURM_ARRAY_TASK_COUNT", "4"}},
                 "auto",
                 "(part 2 of 4, Slurm array)"},
        Launched{{{"SLURM_ARRAY_TASK_ID", "10"},
                  {"SLURM_ARRAY_TASK_MIN", "0"},
                  {"SLURM_ARRAY_TASK_STEP", "5"},
                  {"SLURM_ARRAY_TASK_COUNT", "3"}},
                 "auto",
                 "(part 2 of 3, Slurm array)"},
        // One part of eight again: the array has one index, which is the part.
        Launched{{{"SLURM_ARRAY_TASK_ID", "3"},
                  {"SLURM_ARRAY_TASK_MIN", "3"},
                  {"SLURM_ARRAY_TASK_COUNT", "1"}},
                 "/8",
                 "(part 3 of 8, Slurm array)"},
        Launched{{{"JOB_COMPLETION_INDEX", "1"}}, "/3", "(part 1 of 3, Kubernetes indexed Job)"},
        Launched{{{"JOB_COMPLETION_INDEX", "1"}, {"COLLBENCH_SHARDS", "4"}},
                 "auto",
                 "(part 1 of 4, Kubernetes indexed Job)"},
        Launched{{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}},
                 "auto",
                 "(part 2 of 3, Open MPI)"},
        Launched{{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}},
                 "auto",
                 "(part 1 of 2, Slurm step)"},
        // A batch script of Slurm has a number and a count of tasks, but is no part of anything.
        Launched{{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}, "auto", "24 of 24 cases"}));

TEST_F(SweepTest, PodsThatDoNotKnowTheirNumberAreRefused) {
  const CommandOutcome outcome =
      sweep({"small.toml", "-o", "out.jsonl"}, {{"JOB_COMPLETION_INDEX", "1"}});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("give --shard /N"));
}

TEST_F(SweepTest, MisuseIsExplained) {
  const auto refused = [&](const std::vector<std::string>& arguments, const std::string& message) {
    const CommandOutcome outcome = sweep(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  };
  refused({"small.toml"}, "--output FILE is needed");
  refused({"small.toml", "-o", "o", "--shard", "3/2"}, "part 3 of 2 does not exist");
  refused({"small.toml", "-o", "o", "--shard", "half"}, "'half' is not I/N");
  refused({"small.toml", "-o", "-"}, "--json - shows the records there");
  refused({"small.toml", "-o", "o", "--columns", "nonsense"}, "--columns: unknown column");
  refused({"small.toml", "-o", "o", "--csv", "o"}, "name the same file, 'o'");
  refused({"small.toml", "-o", "o", "--jobs", "0"}, "--jobs must be at least 1");
  refused({"small.toml", "-o", "o", "--trace", "t.json"}, "--trace is of one case");
  refused({"small.toml", "-o", "small.toml"}, "is also what is read");
  folder_.write("notes.txt", "not ours");
  refused({"small.toml", "-o", "notes.txt"}, "not a record file");
  folder_.write("bad.toml", "topo = \"star:4,10Gbps,50us\"\nalgos = \"ring\"\n");
  refused({"bad.toml", "-o", "o"}, "bad.toml:2: unknown key 'algos'. Did you mean 'algo'?");
  EXPECT_EQ(sweep({"absent.toml", "-o", "o"}).code, 4);
  EXPECT_EQ(sweep({"small.toml", "-o", "absent/o"}).code, 4);
}

TEST_F(SweepTest, ChecksWithASecondEngine) {
  EXPECT_EQ(sweep({"small.toml", "-o", "out.jsonl", "--check"}).code, 0);
  // The model waits for all ranks after each round of a tree.
  folder_.write("model.toml",
                "topo = \"star:8,10Gbps,50us\"\nalgo = \"tree\"\nengine = \"model\"\n"
                "minbytes = \"1M\"\nmaxbytes = \"1M\"\n");
  const CommandOutcome differing = sweep({"model.toml", "-o", "model.jsonl", "--check"});
  EXPECT_EQ(differing.code, 3) << differing.err;
  EXPECT_THAT(differing.err, HasSubstr("engines differ by more than 1e-09: model"));
}

TEST_F(SweepTest, ProgressSaysWhatIsLeft) {
  EXPECT_THAT(sweep({"small.toml", "-o", "out.jsonl", "--progress", "on"}).err,
              AllOf(HasSubstr("[1/24] "), HasSubstr(" s left"), HasSubstr("[24/24]")));
  EXPECT_THAT(sweep({"small.toml", "-o", "next.jsonl"}).err, StartsWith("collbench: 24 of 24"));
}

}  // namespace
}  // namespace collbench

// Real runs of the binary over shared memory, their output read by independent readers.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/background.h"
#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class RunTest : public testing::Test {
 protected:
  CommandOutcome run(std::vector<std::string> arguments,
                     const std::map<std::string, std::string>& environment = {}, int signal = 0) {
    for (const char* quick : {"-b", "1K", "-e", "4K", "-n", "10"}) arguments.emplace_back(quick);
    return invoke(folder_, arguments, environment, signal);
  }
  /// What a Python program prints.
  std::string python(const std::string& program) {
    const CommandOutcome outcome = invoke_program(folder_, "python3", {"-c", program});
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }
  RunFolder folder_;
};

TEST_F(RunTest, TheProgressSaysHowLongItMayTakeAndHowLongIsLeft) {
  const CommandOutcome outcome =
      invoke(folder_, {"--algo", "ring", "-b", "1K", "-e", "4K", "--max-time", "0.2", "--trial",
                       "off", "--progress", "on"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("[1/2] at most 1 s  ring"), HasSubstr("[2/2] about")));
}

TEST_F(RunTest, ATypeThatALibraryLacksIsRefusedBeforeAnythingRuns) {
  if (run({"--algo", "mpi", "-W", "2", "--dry-run"}).code == 4) GTEST_SKIP() << "no MPI";
  const CommandOutcome outcome =
      run({"--algo", "ring@mpi,mpi", "-W", "2", "-d", "f32,f16", "--dry-run"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("MPI cannot reduce f16"));
}

TEST_F(RunTest, PrintsATableAndNothingElse) {
  const CommandOutcome outcome = run({"--algo", "ring", "--workers", "2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, AllOf(StartsWith("# collbench 0."), HasSubstr("algo=ring"),
                                 HasSubstr("all results correct")));
}

TEST_F(RunTest, SizesBelowOneElementAreSaidToHoldNone) {
  for (const char* command : {"run", "simulate"}) {
    const auto err = [&](const char* size, const char* type) {
      const CommandOutcome outcome =
          invoke(folder_, {command, "-W", "2", "-b", size, "-e", "8", "-d", type});
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      return outcome.err;
    };
    EXPECT_THAT(err("1", "f32"), HasSubstr("note: sizes below one element of f32 (4 B) have 0"));
    for (const auto& [size, type] : {std::pair{"1", "u8"}, std::pair{"4", "f32"}}) {
      EXPECT_THAT(err(size, type), Not(HasSubstr("below one element"))) << command;
    }
  }
}

TEST_F(RunTest, CountsGiveSharesWorkersAndSize) {
  const CommandOutcome outcome =
      invoke(folder_, {"run", "--collective", "all-gather", "--counts", "1000,0,24", "--algo",
                       "ring,direct", "--out-of-place", "-n", "10", "--json", "-"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr(R"("counts":"1000,0,24")"), HasSubstr(R"("workers":3)"),
                    HasSubstr(R"("size_bytes":4096)"), HasSubstr(R"("wrong_elements":0)")));
  EXPECT_THAT(outcome.out, Not(HasSubstr(R"("wrong_elements":1)")));
  const auto refused = [&](std::vector<std::string> arguments) {
    const CommandOutcome bad = invoke(folder_, arguments);
    EXPECT_EQ(bad.code, 2) << bad.err;
    return bad.err;
  };
  EXPECT_THAT(refused({"run", "--counts", "1,2"}),
              HasSubstr("they are the shares of a reduce-scatter or an all-gather"));
  for (const char* command : {"run", "simulate"}) {
    const auto gather = [&](std::vector<std::string> rest) {
      rest.insert(rest.begin(), {command, "--collective", "all-gather", "--algo", "ring"});
      return refused(rest);
    };
    EXPECT_THAT(gather({"--counts", "1,2", "-W", "3"}), HasSubstr("1,2 has 2 numbers"));
    EXPECT_THAT(gather({"--counts", "1,2", "-b", "8"}),
                HasSubstr("--counts says how large the vector is; leave --minbytes out"));
    EXPECT_THAT(gather({"--counts", "1,-2"}), HasSubstr("'-2' is negative"));
  }
  EXPECT_THAT(refused({"simulate", "--collective", "all-gather", "--counts", "1,2", "--algo",
                       "ring", "--equal-chunks"}),
              HasSubstr("leave --equal-chunks out"));
}

TEST_F(RunTest, AFaultThatStruckNothingIsNamed) {
  for (const char* how : {"--checksum", "--isolate"}) {
    const CommandOutcome outcome =
        run({"--algo", "ring", "-W", "3", "-b", "1K", "-e", "1K", "-n", "5", how, "--inject",
             "delay:rank=1:time=1ms,drop:rank=0:to=2"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("the fault drop:rank=0:to=2 has struck nothing so far"));
    EXPECT_THAT(outcome.out, Not(HasSubstr("the fault delay")));
  }
}

TEST_F(RunTest, AProgramInAFileIsAnAlgorithm) {
  const CommandOutcome program =
      invoke(folder_, {"algos", "show", "swing", "-W", "4", "--format", "msccl"});
  std::ofstream(folder_.path() + "/swing.xml") << program.out;
  for (const char* backend : {"shm", "grpc"}) {
    const CommandOutcome outcome =
        run({"--algo", "file:swing.xml", "-W", "4", "--backend", backend});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("file:swing.xml"), HasSubstr("all results correct")));
  }
  const CommandOutcome simulated =
      invoke(folder_, {"simulate", "--algo", "file:swing.xml", "--topo", "torus:4,1GBps,1us", "-b",
                       "1K", "-e", "1K", "--check"});
  EXPECT_EQ(simulated.code, 0) << simulated.err;
  EXPECT_THAT(simulated.err, HasSubstr("relative difference"));
  const CommandOutcome refused = run({"--algo", "file:swing.xml", "-W", "8"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("for 4 ranks, not 8"));
  EXPECT_EQ(run({"--algo", "file:none.xml", "-W", "8"}).code, 4);
}

TEST_F(RunTest, EveryAlgorithmGivesCorrectResults) {
  const CommandOutcome outcome = invoke(
      folder_, {"--algo", "all", "--workers", "3,4", "-b", "4K", "-e", "4K", "-n", "2", "-w", "0"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("all results correct"));
}

TEST_F(RunTest, WorkersArePinnedToTheListOnlyIfItIsPossible) {
  const CommandOutcome spread = run({"--algo", "ring", "--pin", "scatter"});
  EXPECT_EQ(spread.code, 0) << spread.err;
  const CommandOutcome absent = run({"--pin", "1023"});
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.err, HasSubstr("--pin: this process may not run on processor 1023"));
  EXPECT_THAT(run({"--pin", "scater"}).err, HasSubstr("Did you mean 'scatter'?"));
}

TEST_F(RunTest, JsonIsReadByPython) {
  const CommandOutcome outcome = run({"--algo", "ring,direct", "--json", "-"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  folder_.write("out.json", outcome.out);
  EXPECT_EQ(python("import json; d = json.load(open('out.json'), parse_constant=lambda c: 1/0); "
                   "print(len(d['records']))"),
            "4\n");
}

TEST_F(RunTest, CsvIsReadByPython) {
  folder_.write("out.csv", run({"--algo", "ring,direct", "--format", "csv"}).out);
  EXPECT_EQ(python("import csv; rows = list(csv.DictReader(open('out.csv'))); "
                   "print(len(rows), rows[0]['algorithm'], rows[1]['bytes'], "
                   "all(float(r['median_us']) > 0 and None not in r for r in rows))"),
            "4 ring 1024 True\n");
}

TEST_F(RunTest, MarkdownIsReadByItsCells) {
  const CommandOutcome outcome = run({"--algo", "ring,direct", "--markdown", "out.md", "--format",
                                      "markdown", "--columns", "algorithm,size,busbw,wrong"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  folder_.write("console.md", outcome.out);
  EXPECT_EQ(python("for name in 'out.md', 'console.md':\n"
                   "  rows = [[c.strip() for c in l.strip().strip('|').split('|')]"
                   " for l in open(name) if l[0] == '|']\n"
                   "  print(rows[0][:2], [r[:2] for r in rows[2:]], "
                   "all(len(r) == 4 and float(r[2]) > 0 == int(r[3]) for r in rows[2:]))"),
            "['algorithm', 'size'] [['ring', '1 KiB'], ['direct', '1 KiB'], ['ring', '4 KiB'], "
            "['direct', '4 KiB']] True\n"
            "['algorithm', 'size'] [['ring', '1 KiB'], ['direct', '1 KiB'], ['ring', '4 KiB'], "
            "['direct', '4 KiB']] True\n");
}

TEST_F(RunTest, OneRunMixesBackEndsInTurnAndInOneTable) {
  const CommandOutcome outcome =
      run({"--algo", "ring@shm,ring@grpc,direct@shm", "--columns", "size,algorithm,backend", "-q"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  folder_.write("out.txt", outcome.out);
  EXPECT_EQ(python("print([' '.join(l.split()[:4]) for l in open('out.txt') if l[0] != '#'])"),
            "['1 KiB ring shm', '1 KiB ring grpc', '1 KiB direct shm', "
            "'4 KiB ring shm', '4 KiB ring grpc', '4 KiB direct shm']\n");
  const CommandOutcome refused = run({"--algo", "ring@gloo"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("use --algo gloo"));
}

TEST_F(RunTest, RowsAreSortedByTheColumnsAsked) {
  const CommandOutcome outcome = run({"--algo", "ring,direct", "--sort", "algorithm,-size",
                                      "--columns", "algorithm,size", "--quiet"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  folder_.write("out.txt", outcome.out);
  EXPECT_EQ(python("print([l.split()[:2] for l in open('out.txt') if l[0] != '#'])"),
            "[['direct', '4'], ['direct', '1'], ['ring', '4'], ['ring', '1']]\n");
  EXPECT_EQ(run({"--sort=-busbw"}).code, 0);
  EXPECT_EQ(run({"--sort", "-busbw"}).code, 0);
}

TEST_F(RunTest, UnknownColumnsGetASuggestion) {
  const CommandOutcome outcome = run({"--columns", "size,busbv"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err,
              HasSubstr("--columns: unknown column 'busbv'. Did you mean 'busbw'? Known are "));
  EXPECT_THAT(run({"--sort=-sise"}).err, HasSubstr("--sort: unknown column 'sise'"));
  EXPECT_THAT(run({"--columns", "-size"}).err, HasSubstr("'-size'"));
}

TEST_F(RunTest, NcclTableIsReadByItsColumns) {
  folder_.write("out.txt", run({"--algo", "ring", "--format", "nccl"}).out);
  EXPECT_EQ(python("rows = [l.split() for l in open('out.txt') if l[0] != '#'];\n"
                   "print(len(rows), all(len(r) == 13 for r in rows), "
                   "[r[:5] for r in rows][0], all(float(r[5]) > 0 < float(r[9]) for r in rows))"),
            "2 True ['1024', '256', 'float', 'sum', '-1'] True\n");
}

TEST_F(RunTest, GoogleBenchmarksOwnScriptComparesTwoRuns) {
  const std::string script = "/usr/share/benchmark/compare.py";
  ASSERT_EQ(run({"--algo", "ring", "--gbench", "one.json"}).code, 0);
  EXPECT_EQ(python("import json; d = json.load(open('one.json')); "
                   "print(sorted({'name', 'run_type', 'real_time', 'cpu_time', 'time_unit', "
                   "'iterations'} - set(d['benchmarks'][0])), 'context' in d)"),
            "[] True\n");
  // The structure above is what it reads.
  if (access(script.c_str(), R_OK) != 0) GTEST_SKIP() << script << " is not installed";
  const CommandOutcome compared = invoke_program(
      folder_, "python3", {script, "--no-color", "benchmarks", "one.json", "one.json"});
  if (compared.err.find("ModuleNotFoundError") != std::string::npos) GTEST_SKIP() << compared.err;
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("ring/shm/workers:2/1024/f32/sum"));
  EXPECT_THAT(compared.out, HasSubstr("+0.0000"));
}

TEST_F(RunTest, AGateThatIsMissedEndsWithOne) {
  const CommandOutcome missed = run({"--algo", "ring", "--min-busbw", "4K:100000GB/s"});
  EXPECT_EQ(missed.code, 1);
  EXPECT_THAT(missed.err, HasSubstr("gate failed: ring/shm/workers:2/4096/f32/sum"));
  EXPECT_EQ(run({"--algo", "ring", "--min-busbw", "4K:0.000001"}).code, 0);
  const CommandOutcome absent = run({"--algo", "ring", "--min-busbw", "8K:1"});
  EXPECT_EQ(absent.code, 1);
  EXPECT_THAT(absent.err, HasSubstr("no case of 8 KiB was measured"));
}

TEST_F(RunTest, ProgressIsShownOnlyWhenAsked) {
  EXPECT_THAT(run({"--progress", "on"}).err, HasSubstr("[1/2]"));
  EXPECT_EQ(run({"--progress", "auto"}).err, "");
}

TEST_F(RunTest, ColourAndUnicodeAreUsedOnlyWhereTheyAreUnderstood) {
  const std::string plain = run({"--color", "auto"}).out;
  EXPECT_THAT(plain, Not(HasSubstr("\033")));
  EXPECT_THAT(plain, HasSubstr("+-95%"));
  EXPECT_THAT(run({}, {{"LANG", "C.UTF-8"}}).out, HasSubstr("±95%"));
}

TEST_F(RunTest, AFullDiskIsAnErrorAndNotASuccess) {
  const CommandOutcome outcome = invoke_program(
      folder_, "sh", {"-c", std::string(COLLBENCH_BINARY) + " algos list > /dev/full"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("standard output"));
}

class InterruptTest : public RunTest, public testing::WithParamInterface<int> {};

TEST_P(InterruptTest, KeepsWhatWasMeasured) {
  const CommandOutcome outcome = invoke(folder_,
                                        {"--algo", "ring", "-b", "1K", "-e", "1G", "--max-time",
                                         "0.2", "-N", "1000", "--json", "kept.json"},
                                        {}, GetParam());
  EXPECT_EQ(outcome.code, 128 + GetParam());
  EXPECT_THAT(outcome.out, HasSubstr("# ended early after "));
  EXPECT_EQ(python("import json; d = json.load(open('kept.json')); "
                   "print(len(d['records']) >= 1, len(d['records'][0]['latency_ns']) > 0)"),
            "True True\n");
}

INSTANTIATE_TEST_SUITE_P(Signals, InterruptTest, testing::Values(SIGINT, SIGTERM));

class LongCaseTest : public RunTest, public testing::WithParamInterface<Arguments> {};

TEST_P(LongCaseTest, EndsSoonAfterASignalWithItsSamples) {
  Arguments words = {"--algo", "ring", "-W",        "2",         "-b", "1M",     "-e",
                     "1M",     "-n",   "100000000", "--timeout", "1h", "--json", "kept.json"};
  words.insert(words.end(), GetParam().begin(), GetParam().end());
  const BackgroundProcess run(folder_, words, {{"PATH", "/usr/bin:/bin"}}, "log");
  std::this_thread::sleep_for(std::chrono::seconds(4));  // has begun to time, however busy
  const auto begin = std::chrono::steady_clock::now();
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 143);
  // It takes some tenths of a second; other tests run beside this one.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_THAT(folder_.read("log"), HasSubstr("# ended early after 1 of 1 cases: SIGTERM"));
  EXPECT_EQ(python("import json; d = json.load(open('kept.json'))['records'][0]; "
                   "print(len(d['latency_ns']) > 0, d['warnings'][0][:26])"),
            "True stopped by a signal after \n");
}

INSTANTIATE_TEST_SUITE_P(BackEnds, LongCaseTest,
                         testing::Values(Arguments{}, Arguments{"--isolate"},
                                         Arguments{"-B", "grpc"}));

}  // namespace
}  // namespace collbench

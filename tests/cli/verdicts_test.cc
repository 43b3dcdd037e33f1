// `ab`, `compare` and `history` as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

/// A head that runs the real command and then says its samples took a hundred times as long.
const std::string slowed = "#!/bin/bash\n" COLLBENCH_BINARY
                           " \"$@\" || exit\n"
                           "slow=$(awk '{\n"
                           "  if (match($0, /\"latency_ns\":\\[[0-9,]+\\]/)) {\n"
                           "    times = substr($0, RSTART, RLENGTH)\n"
                           "    gsub(/[0-9]+/, \"&00\", times)\n"
                           "    $0 = substr($0, 1, RSTART - 1) times substr($0, RSTART + RLENGTH)\n"
                           "    sub(/,\"crc32c\":\"[0-9a-f]+\"/, \"\")\n"
                           "  }\n"
                           "  print }' \"${@: -1}\")\n"
                           "echo \"$slow\" > \"${@: -1}\"\n";

class VerdictsTest : public testing::Test {
 protected:
  CommandOutcome simulate(const std::string& topology, const std::string& file) {
    return invoke(folder_, {"simulate", "--topo", topology, "--algo", "ring,tree", "-b", "1K", "-e",
                            "64K", "--quiet", "--json", file});
  }
  CommandOutcome ab(const std::string& head, std::vector<std::string> options) {
    std::vector<std::string> words = {"ab", "--base", COLLBENCH_BINARY, "--head", head};
    words.insert(words.end(), options.begin(), options.end());
    for (const char* word : {"--", "-A", "ring", "-W", "2", "-b", "1K", "-e", "1K", "-n", "20"}) {
      words.emplace_back(word);
    }
    return invoke(folder_, words);
  }
  std::string slow_head() {
    folder_.write("head", slowed);
    invoke_program(folder_, "chmod", {"+x", "head"});
    return folder_.path() + "/head";
  }
  RunFolder folder_;
};

TEST_F(VerdictsTest, ExactFiguresThatDifferFailTheGateByName) {
  ASSERT_EQ(simulate("star:8,10Gbps,50us", "a.json").code, 0);
  ASSERT_EQ(simulate("star:8,10Gbps,50us", "b.json").code, 0);
  const CommandOutcome same = invoke(folder_, {"compare", "a.json", "b.json"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("8 cases: 8 same; exact figures, compared for equality"));
  ASSERT_EQ(invoke_program(folder_, "python3",
                           {"-c",
                            "import json; d = json.load(open('b.json'))\n"
                            "d['records'][0]['exact']['messages'] += 1\n"
                            "del d['records'][0]['crc32c']\n"
                            "json.dump(d, open('b.json', 'w'), indent=1)"})
                .code,
            0);
  const CommandOutcome changed = invoke(folder_, {"compare", "a.json", "b.json"});
  EXPECT_EQ(changed.code, 1);
  EXPECT_THAT(changed.err, ContainsRegex("gate failed: ring/sim.*: changed: messages"));
  EXPECT_EQ(invoke(folder_, {"compare", "a.json", "b.json", "--fail-on", "none"}).code, 0);
}

TEST_F(VerdictsTest, TablesOfOtherBenchmarksAreComparedAFolderOfThemByRounds) {
  const auto osu = [](double us) {
    return "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n1024  " +
           std::to_string(us) + "\n";
  };
  invoke_program(folder_, "mkdir", {"base", "head"});
  for (int round = 0; round < 12; ++round) {
    const std::string name = "/" + std::to_string(round) + ".txt";
    folder_.write("base" + name, osu(10 + 0.01 * round));
    folder_.write("head" + name, osu(13 + 0.01 * round));
  }
  const CommandOutcome slower = invoke(folder_, {"compare", "base,ranks=4", "head,ranks=4"});
  EXPECT_EQ(slower.code, 1) << slower.err;
  EXPECT_THAT(slower.out, AllOf(HasSubstr("auto/mpi/workers:4/1024/f32"), HasSubstr("slower"),
                                HasSubstr("12 rounds")));
  const CommandOutcome one =
      invoke(folder_, {"compare", "base/1.txt,ranks=4", "head/1.txt,ranks=4"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("inconclusive"));
  EXPECT_EQ(invoke(folder_, {"compare", "base", "base"}).code, 2);
  // 30 % slower is within a threshold of its own; the last filter that matches counts.
  const auto with = [&](const std::string& thresholds) {
    return invoke(folder_,
                  {"compare", "base,ranks=4", "head,ranks=4", "--threshold-for", thresholds});
  };
  EXPECT_EQ(with("bytes<=4K=40%").code, 0) << with("bytes<=4K=40%").out;
  EXPECT_EQ(with("bytes<=4K=20%").code, 1);
  EXPECT_EQ(with("bytes<=4K=40%,backend:mpi=5%").code, 1);
  const CommandOutcome idle = with("bytes<=4K=40%,bytes<=2=20%,algo:rnig=15%");
  EXPECT_EQ(idle.code, 2);
  EXPECT_THAT(idle.err, HasSubstr("--threshold-for: no case matches 'bytes<=2' or 'algo:rnig'"));
  const CommandOutcome wrong = with("bytes<=4K");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("'bytes<=4K' is not FILTER=PERCENT"));
}

TEST_F(VerdictsTest, StandardOutputCarriesOneFormatOnly) {
  ASSERT_EQ(simulate("star:8,10Gbps,50us", "a.json").code, 0);
  const CommandOutcome json = invoke(folder_, {"compare", "a.json", "a.json", "--json", "-"});
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_THAT(json.out, testing::StartsWith("{"));
  for (const char* file : {"-", "a.md"}) {
    const CommandOutcome two =
        invoke(folder_, {"compare", "a.json", "a.json", "--json", file, "--markdown", file});
    EXPECT_EQ(two.code, 2);
    EXPECT_EQ(two.out, "");
  }
}

TEST_F(VerdictsTest, AComparisonOfNothingDoesNotPass) {
  ASSERT_EQ(simulate("star:8,10Gbps,50us", "a.json").code, 0);
  folder_.write("empty.jsonl", "{\"schema_version\": 1, \"environment\": {}}\n");
  for (const char* head : {"empty.jsonl", "a.json"}) {
    const CommandOutcome outcome =
        invoke(folder_, {"compare", "empty.jsonl", head, "--fail-on", "none"});
    EXPECT_EQ(outcome.code, 6) << head;
    EXPECT_THAT(outcome.out, HasSubstr("warning: no case was measured on both sides"));
    EXPECT_THAT(outcome.err, HasSubstr("nothing was compared"));
  }
  EXPECT_EQ(invoke(folder_, {"compare", "a.json", "empty.jsonl"}).code, 1) << "all are missing";
}

TEST_F(VerdictsTest, AThresholdForWhatTheCommandsDoNotPrintIsRefused) {
  const auto refused = [&](const std::string& format, const std::string& filter) {
    return invoke(folder_, {"ab", "--base", "true", "--head", "true", "--read", format,
                            "--threshold-for", filter + "=20%"});
  };
  EXPECT_THAT(refused("osu", "workers:2").err,
              HasSubstr("a case of osu has no 'workers', only a name (algo) and a size (bytes)"));
  EXPECT_THAT(refused("hyperfine", "bytes<=4K").err,
              HasSubstr("a case of hyperfine has no 'bytes', only a name (algo)"));
}

TEST_F(VerdictsTest, AThresholdHoldsForTheSizesOfAnotherBenchmarksTable) {
  const std::string table =
      "printf '# OSU MPI Allreduce Latency Test v7.4\\n# Size  Avg Latency(us)\\n4 10\\n"
      "1048576 %d\\n' ";
  const auto with = [&](const std::string& thresholds) {
    return invoke(folder_, {"ab", "--base", table + "100", "--head", table + "119", "--read", "osu",
                            "--budget", "5s", "--threshold-for", thresholds});
  };
  EXPECT_EQ(with("bytes<=4K=20%").code, 1);
  const CommandOutcome one_idle = with("bytes>4K=20%,bytes>4G=30%");
  EXPECT_EQ(one_idle.code, 0);
  EXPECT_THAT(one_idle.out, HasSubstr("warning: --threshold-for: 'bytes>4G' is no case's"));
}

TEST_F(VerdictsTest, AbCatchesASlowHeadAndKeepsItsRounds) {
  const CommandOutcome outcome =
      ab(slow_head(), {"--rounds", "8", "--no-self-check", "--keep", "rounds"});
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("slower: confirmed by fresh rounds"));
  const CommandOutcome again =
      invoke(folder_, {"compare", "rounds/base.jsonl", "rounds/head.jsonl"});
  EXPECT_THAT(again.out, HasSubstr("1 case: 1 slower")) << again.err;
}

TEST_F(VerdictsTest, AbSpendsItsBudgetOnOpenCasesAndTheGateCanFailOnThem) {
  // A single round decides nothing.
  const CommandOutcome open =
      ab(COLLBENCH_BINARY, {"--budget", "1ms", "--fail-on", "inconclusive"});
  EXPECT_EQ(open.code, 1) << open.out << open.err;
  EXPECT_THAT(open.err,
              AllOf(HasSubstr("gate failed: ring/shm/workers:2/1024/f32/sum: inconclusive"),
                    HasSubstr("stopped by budget after 1 round")));
  const CommandOutcome slow = ab(slow_head(), {"--budget", "20s"});
  EXPECT_EQ(slow.code, 1) << slow.out << slow.err;
  EXPECT_THAT(slow.out, HasSubstr("slower"));
  EXPECT_THAT(slow.err, testing::Not(HasSubstr("stopped by budget")));
}

TEST_F(VerdictsTest, AnInterruptedAbShowsWhatItHas) {
  // The ninth process of head asks ab, its parent, to stop. Its round is whole if it was the last.
  folder_.write("head",
                "#!/bin/bash\necho x >> count\nmapfile lines < count\n"
                "[ ${#lines[@]} -lt 9 ] || kill -INT $PPID\n"
                "exec " COLLBENCH_BINARY " \"$@\"\n");
  invoke_program(folder_, "chmod", {"+x", "head"});
  const CommandOutcome outcome =
      ab(folder_.path() + "/head", {"--rounds", "50", "--no-self-check"});
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("ring/shm"), ContainsRegex("[89] rounds")));
  EXPECT_THAT(outcome.err, ContainsRegex("stopped by SIGINT after [89] rounds"));
}

TEST_F(VerdictsTest, AHeadThatFailsSaysWhichAndHow) {
  folder_.write("head", "#!/bin/bash\nexit 5\n");
  invoke_program(folder_, "chmod", {"+x", "head"});
  const CommandOutcome failed = ab(folder_.path() + "/head", {});
  EXPECT_EQ(failed.code, 5);
  EXPECT_THAT(failed.err, ContainsRegex("head \\(.*/head\\) exited with code 5"));
  EXPECT_EQ(ab("/no/such/program", {}).code, 4);
  const CommandOutcome other = ab("/bin/true", {});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("(/bin/true) wrote no records to --json"));
}

TEST_F(VerdictsTest, BadInputIsNamed) {
  ASSERT_EQ(simulate("star:8,10Gbps,50us", "a.json").code, 0);
  folder_.write("version.json", "{\"schema_version\": 9, \"environment\": {}, \"records\": []}");
  folder_.write("nan.jsonl",
                "{\"schema_version\": 1, \"environment\": {}}\n{\"latency_ns\": [NaN]}\n");
  const auto refused = [&](const std::string& file) {
    const CommandOutcome outcome = invoke(folder_, {"compare", "a.json", file});
    EXPECT_EQ(outcome.code, 2) << file;
    return outcome.err;
  };
  EXPECT_THAT(refused("version.json"), HasSubstr("'version.json': records of schema version 9"));
  EXPECT_THAT(refused("nan.jsonl"), HasSubstr("'nan.jsonl'"));
  EXPECT_EQ(invoke(folder_, {"compare", "a.json", "none.json"}).code, 4);
  EXPECT_THAT(invoke(folder_, {"compare", "a.json", "a.json", "--fail-on", "slowr"}).err,
              HasSubstr("Did you mean 'slower'?"));
  EXPECT_THAT(ab(COLLBENCH_BINARY, {"--rounds", "0"}).err, HasSubstr("--rounds"));
}

TEST_F(VerdictsTest, AnyTwoCommandsAreComparedByWhatTheyPrintOrWrite) {
  const auto compare = [&](const std::string& base, const std::string& head) {
    return invoke(folder_, {"ab", "--base", base, "--head", head, "--read", "csv:case,t,u",
                            "--budget", "20s", "--keep", "kept"});
  };
  const std::string base = "printf 'case,t,u\\nsmall,%d,ns\\nbig,2,s\\n' $T";
  const CommandOutcome slower =
      compare("T=50; " + base, "T=80; (" + base + ") > $AB_OUT; echo noise");
  EXPECT_EQ(slower.code, 1) << slower.out << slower.err;
  EXPECT_THAT(slower.out, AllOf(ContainsRegex("small +0.05000 us +0.08000 us +.60.0 %.* slower"),
                                ContainsRegex("big .*same")));
  EXPECT_THAT(slower.err, HasSubstr("gate failed: small: slower"));
  EXPECT_EQ(invoke(folder_, {"compare", "kept/base.jsonl", "kept/base.jsonl"}).code, 0);
  EXPECT_THAT(invoke(folder_, {"report", "kept/base.jsonl"}).out, HasSubstr("0.0500"));
  const CommandOutcome other = compare("T=50; " + base, "printf 'case,t,u\\nbig,2,s\\n'");
  EXPECT_EQ(other.code, 1) << other.err;
  EXPECT_THAT(other.err, HasSubstr("small: missing: head does not have it"));
}

TEST_F(VerdictsTest, ATimeThatRoundsToNothingSpoilsNoOtherCase) {
  const auto sides = [](const char* times) {
    return std::string("printf 'n,s,u\\nk,%s,ns\\nj,5,us\\n' ") + times;
  };
  const CommandOutcome faster =
      invoke(folder_, {"ab", "--base", sides("1200"), "--head", sides("0.2"), "--read", "csv:n,s,u",
                       "--budget", "20s"});
  EXPECT_EQ(faster.code, 0) << faster.err;
  EXPECT_THAT(faster.out, AllOf(ContainsRegex("k .*faster"), ContainsRegex("j .*same")));
  const CommandOutcome slower =
      invoke(folder_, {"ab", "--base", sides("0.0004"), "--head", sides("9e13"), "--read",
                       "csv:n,s,u", "--budget", "20s"});
  EXPECT_EQ(slower.code, 1) << slower.err;
  EXPECT_THAT(slower.err, HasSubstr("k: slower"));
}

TEST_F(VerdictsTest, ACommandThatCannotBeComparedIsNamedWithItsLastWords) {
  const auto failing = [&](const std::string& command, const std::string& format = "csv:a,b") {
    return invoke(folder_, {"ab", "--base", command, "--head", command, "--read", format,
                            "--timeout", "200ms"});
  };
  const CommandOutcome failed = failing("echo out of luck >&2; exit 7");
  EXPECT_EQ(failed.code, 5);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("exited with code 7"), HasSubstr("out of luck")));
  EXPECT_EQ(failing("/no/such/program").code, 4);
  const CommandOutcome hung = failing("sleep 100 | cat");
  EXPECT_EQ(hung.code, 5);
  EXPECT_THAT(hung.err, HasSubstr("(sleep 100 | cat) did not end within 200 ms"));
  const CommandOutcome unreadable = failing("echo hello");
  EXPECT_EQ(unreadable.code, 2);
  EXPECT_THAT(unreadable.err, HasSubstr("(echo hello): no heading with the columns a, b in it"));
  const CommandOutcome disjoint =
      invoke(folder_, {"ab", "--base", "printf 'a,b\\nx,1\\n'", "--head", "printf 'a,b\\ny,1\\n'",
                       "--read", "csv:a,b"});
  EXPECT_EQ(disjoint.code, 2);
  EXPECT_THAT(disjoint.err, HasSubstr("it has no case that the other side has"));
}

TEST_F(VerdictsTest, AHistoryIsWrittenReadBySqliteAndPruned) {
  ASSERT_EQ(simulate("star:8,10Gbps,50us", "a.json").code, 0);
  for (const char* when : {"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"}) {
    const CommandOutcome added =
        invoke(folder_, {"history", "add", "a.json", "a.json", "--db", "h.db", "--when", when});
    EXPECT_EQ(added.code, 0) << added.err;
  }
  EXPECT_THAT(invoke(folder_, {"history", "list", "--db", "h.db"}).out,
              HasSubstr("2026-01-02T00:00:00Z"));
  const CommandOutcome nowhere =
      invoke(folder_, {"history", "add", "a.json", "a.json", "--db", "none/h.db"});
  EXPECT_EQ(nowhere.code, 4);
  EXPECT_THAT(nowhere.err, HasSubstr("history 'none/h.db': there is no folder 'none'"));
  const CommandOutcome counted =
      invoke_program(folder_, "python3",
                     {"-c",
                      "import sqlite3; print(sqlite3.connect('h.db').execute("
                      "'select count(*), count(distinct name) from point').fetchone())"});
  EXPECT_EQ(counted.out, "(16, 8)\n") << counted.err;
  const std::string name = "ring/sim/workers:8/1024/f32/sum/on:star:8,10Gbps,50us";
  const CommandOutcome shown = invoke(folder_, {"history", "show", name, "--db", "h.db"});
  EXPECT_THAT(shown.out, HasSubstr("us (exact)")) << shown.err;
  EXPECT_THAT(invoke(folder_, {"history", "changes", "--db", "h.db"}).err,
              HasSubstr("0 changes in 8 cases"));
  EXPECT_THAT(invoke(folder_, {"history", "prune", "--keep", "1", "--db", "h.db"}).err,
              HasSubstr("1 job removed"));
  // Dates are sorted as text: all have their zeros, and are of days that there are.
  for (const char* when : {"yesterday", "2026-9-01T00:00:00Z", "2026-02-31T00:00:00Z",
                           "2026-01-01T0:00:00Z", "2026-01-01T00:00:00"}) {
    const CommandOutcome refused =
        invoke(folder_, {"history", "add", "a.json", "a.json", "--db", "h.db", "--when", when});
    EXPECT_EQ(refused.code, 2) << when;
    EXPECT_THAT(refused.err, HasSubstr("write 2026-11-21T14:30:00Z, with all zeros"));
  }
}

TEST_F(VerdictsTest, AHistoryTakesNoWrongResults) {
  ASSERT_EQ(simulate("star:8,10Gbps,50us", "right.json").code, 0);
  ASSERT_EQ(invoke_program(folder_, "python3",
                           {"-c",
                            "import json; d = json.load(open('right.json'))\n"
                            "d['records'][0]['wrong_elements'] = 5\n"
                            "for r in d['records']: r.pop('crc32c', None)\n"
                            "json.dump(d, open('wrong.json', 'w'))"})
                .code,
            0);
  const CommandOutcome head =
      invoke(folder_, {"history", "add", "right.json", "wrong.json", "--db", "h.db"});
  EXPECT_EQ(head.code, 3);
  EXPECT_THAT(head.err, AllOf(ContainsRegex("left out: ring.*: 5 elements of head are wrong"),
                              HasSubstr("job 1 with 8 cases")));
  const CommandOutcome base =
      invoke(folder_, {"history", "add", "wrong.json", "right.json", "--db", "h.db"});
  EXPECT_EQ(base.code, 3);
  EXPECT_THAT(base.err, HasSubstr("'wrong.json' has wrong results, the first of ring"));
}

TEST_F(VerdictsTest, AHistoryNamesTheJobSinceWhichAnExactFigureDiffers) {
  ASSERT_EQ(invoke(folder_, {"simulate", "-t", "star:4,1Gbps,5us", "-A", "ring", "-b", "1K", "-e",
                             "1K", "--quiet", "--json", "before.json"})
                .code,
            0);
  ASSERT_EQ(
      invoke_program(folder_, "python3",
                     {"-c",
                      "import json; d = json.load(open('before.json'))\n"
                      "record = d['records'][0]\n"
                      "record['exact']['time_s'] *= 1.5\n"
                      "record['latency_ns'] = [int(1.5 * ns) for ns in record['latency_ns']]\n"
                      "del record['crc32c']\n"
                      "json.dump(d, open('after.json', 'w'))"})
          .code,
      0);
  int day = 1;
  for (const char* file : {"before.json", "before.json", "after.json", "after.json"}) {
    const std::string when = "2026-01-0" + std::to_string(day++) + "T00:00:00Z";
    const CommandOutcome added =
        invoke(folder_, {"history", "add", "before.json", file, "--db", "h.db", "--when", when});
    EXPECT_EQ(added.code, 0) << added.err;
  }
  const CommandOutcome changes = invoke(folder_, {"history", "changes", "--db", "h.db"});
  EXPECT_THAT(changes.out,
              ContainsRegex("^2026-01-03T00:00:00Z  \\+50[.0-9]* %  since .* \\(job 3\\)  ring"));
  EXPECT_THAT(changes.err, HasSubstr("1 change in 1 case\n"));
  const std::string name = "ring/sim/workers:4/1024/f32/sum/on:star:4,1Gbps,5us";
  EXPECT_THAT(
      invoke(folder_, {"history", "show", name, "--db", "h.db"}).out,
      ContainsRegex("2026-01-02[^\n]*42.288 us .exact.\n +-+ \\+50[.0-9]* % -+\n +3  2026-01-03"));
}

}  // namespace
}  // namespace collbench

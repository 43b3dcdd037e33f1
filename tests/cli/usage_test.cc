// What the command says to people: help, errors with their exit codes, suggestions.
#include <algorithm>
#include <functional>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class UsageTest : public testing::Test {
 protected:
  CommandOutcome run(const std::vector<std::string>& arguments) {
    return invoke(folder_, arguments);
  }
  void expect_usage_error(const std::vector<std::string>& arguments, const std::string& message) {
    const CommandOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << message;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("collbench: error: "));
    EXPECT_THAT(outcome.err, HasSubstr(message));
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("\ntry 'collbench"), EndsWith(" --help'\n")));
  }
  RunFolder folder_;
};

TEST_F(UsageTest, HelpGroupsTheOptionsAndEndsWithExamplesAndExitCodes) {
  const CommandOutcome outcome = run({"--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* part :
       {"usage: collbench [COMMAND] [OPTIONS]",
        "Commands:", "What to run:", "Sizes:", "Measuring:", "Output:", "-A, --algo NAME[,..]",
        "Examples:", "collbench --algo ring --workers 8", "Exit codes:", "[1K]"}) {
    EXPECT_THAT(outcome.out, HasSubstr(part));
  }
}

TEST_F(UsageTest, EveryWayToAskForHelpOfRunGivesTheSame) {
  const std::string help = run({"--help"}).out;
  EXPECT_EQ(run({"run", "--help"}).out, help);
  EXPECT_EQ(run({"help"}).out, help);
  EXPECT_EQ(run({"help", "run"}).out, help);
  EXPECT_EQ(run({"-qh"}).out, help);
  const std::string brief = run({"-h"}).out;
  EXPECT_LT(std::ranges::count(brief, '\n'), 60);
  EXPECT_THAT(brief, AllOf(HasSubstr("-W, --workers N[,..]"), Not(HasSubstr("--tls-ca")),
                           HasSubstr("All options, and examples: collbench --help")));
}

TEST_F(UsageTest, HelpOfASubcommandSpeaksOfIt) {
  const std::string help = run({"help", "algos", "show"}).out;
  EXPECT_THAT(help, HasSubstr("usage: collbench algos show NAME [OPTIONS]"));
  EXPECT_EQ(run({"algos", "show", "--help"}).out, help);
}

TEST_F(UsageTest, ALetterMeansTheSameInEveryCommand) {
  // "  -W, --workers N": by letter, the long name and the first command that has it.
  std::map<std::string, std::pair<std::string, std::string>> meanings;
  const auto check = [&](const std::vector<std::string>& command) {
    std::vector<std::string> arguments = {"help"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    std::istringstream lines(run(arguments).out);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t comma = line.find(", --");
      if (!line.starts_with("  -") || comma != 4) continue;
      const std::string name = line.substr(6, line.find_first_of(" ,\n", 6) - 6);
      const auto [known, is_new] =
          meanings.try_emplace(line.substr(2, 2), name, command.empty() ? "run" : command[0]);
      EXPECT_EQ(known->second.first, name)
          << known->first << " in " << known->second.second << " and " << command.front();
    }
  };
  check({});
  for (const char* command :
       {"simulate", "sweep", "train", "select", "calibrate", "validate", "regret", "report",
        "compare", "ab", "history", "launch", "merge", "doctor", "diagnose", "logs", "synth"}) {
    check({command});
  }
  for (const char* part : {"list", "show", "verify", "order"}) check({"algos", part});
  for (const char* part : {"list", "show", "validate", "convert", "draw"}) check({"topo", part});
  EXPECT_GT(meanings.size(), 15U);
}

TEST_F(UsageTest, EveryCommandHasExamplesWhoseOptionsItKnowsAndFitsATerminal) {
  const std::function<void(const std::string&)> check = [&](const std::string& path) {
    std::istringstream words(path);
    std::vector<std::string> arguments = {"help"};
    for (std::string word; words >> word;) arguments.push_back(word);
    const std::string help = run(arguments).out;
    std::istringstream lines(help);
    bool in_commands = false;
    bool has_example = false;
    bool is_group = false;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), 100U) << line;
      if (in_commands && line.starts_with("  ") && line[2] != ' ') {
        const std::string name = line.substr(2, line.find(' ', 2) - 2);
        if (name != "run") check(path + " " + name);  // whose help is the root's
      }
      in_commands = line == "Commands:" || (in_commands && !line.empty());
      is_group = is_group || in_commands;
      const std::size_t example = (line + " ").find("collbench" + path + " ");
      if (example == std::string::npos || line.starts_with("usage:")) continue;
      has_example = true;
      std::istringstream parts(line.substr(example, line.find(" -- ") - example));
      for (std::string part; parts >> part;) {
        if (!part.starts_with("--")) continue;
        EXPECT_THAT(help.substr(0, help.find("\nExamples:")), HasSubstr(" " + part + " ")) << line;
      }
    }
    const bool takes_nothing = path == " version" || path == " help" || path == " doctor";
    EXPECT_TRUE(has_example || is_group || takes_nothing) << path << "\n" << help;
  };
  check("");
}

TEST_F(UsageTest, UnknownNamesGetASuggestion) {
  expect_usage_error({"rum"}, "unknown command 'rum'. Did you mean 'run'?");
  expect_usage_error({"algos", "lst"}, "unknown command 'lst'. Did you mean 'list'?");
  expect_usage_error({"--algoo", "ring"}, "unknown option '--algoo'. Did you mean '--algo'?");
  expect_usage_error({"run", "--wokers=8"}, "unknown option '--wokers'. Did you mean '--workers'?");
  expect_usage_error({"select", "--isolate"},
                     "'--isolate': an option of 'run', 'train'\ntry 'collbench select --help'");
  expect_usage_error({"topo", "show", "dgx-h100", "-p"},
                     "'-p': an option of 'select', 'regret'\ntry 'collbench topo show --help'");
  expect_usage_error({"--algo", "rnig"}, "unknown algorithm 'rnig'. Did you mean 'ring'?");
  expect_usage_error({"--backend", "grcp"}, "unknown back end 'grcp'. Did you mean 'grpc'?");
  expect_usage_error({"--datatype", "f31"}, "Did you mean");
  expect_usage_error({"--format", "tabel"}, "Did you mean 'table'?");
  expect_usage_error({"algos", "show", "rnig"}, "Did you mean 'ring'?");
  expect_usage_error({"help", "algo"}, "Did you mean 'algos'?");
  expect_usage_error({"completion", "bsh"}, "Did you mean 'bash'?");
}

TEST_F(UsageTest, ImpossibleValuesSayWhatWouldBePossible) {
  expect_usage_error({"--workers", "0"}, "--workers must be at least 1 (got 0)");
  expect_usage_error({"-b", "-5"}, "--minbytes: size '-5' is negative");
  expect_usage_error({"-b", "10Mfoo"}, "10Mfoo");
  expect_usage_error({"-e", "99999999999G"}, "--maxbytes");
  expect_usage_error({"-f", "1"}, "--stepfactor must be above 1");
  expect_usage_error({"-f", "2", "-i", "4K"}, "exclude each other");
  expect_usage_error({"--in-place", "--out-of-place"}, "exclude each other");
  expect_usage_error({"--algo", "swing", "-W", "6"}, "power of two");
  expect_usage_error({"--algo", "torus:dims=3x3", "-W", "8"}, "8");
  expect_usage_error({"--filter", "bytes>=1M", "-e", "1K"}, "--filter leaves no case");
  expect_usage_error({"--json", "-", "--csv", "-"}, "standard output already carries");
  expect_usage_error({"--format", "table", "--csv", "-"}, "standard output already carries");
  expect_usage_error({"--color", "sometimes"}, "--color: unknown 'sometimes'. Known are auto");
  expect_usage_error({"ab", "--base", "a", "--head", "b", "--rounds", "0"}, "--rounds");
  expect_usage_error({"ab", "--base", "a", "--head", "b", "--confirm-rounds", "5"},
                     "--confirm-rounds needs --rounds");
  expect_usage_error({"-W", "2", "--inject", "kill:rank=9"},
                     "'kill:rank=9' names rank 9, but ranks of 2 workers are 0 to 1");
  expect_usage_error({"-W", "2,4", "--inject", "drop:to=2"}, "ranks of 2 workers are 0 to 1");
  expect_usage_error({"--json", ""}, "--json: the value is empty");
  expect_usage_error({"history", "list", "--db", ""}, "--db: the value is empty");
  expect_usage_error({"--json=", "-b", "1K"}, "--json: the value is empty");
  expect_usage_error({"--json", "-b", "1K"}, "--json: '-b' is an option; a value is missing");
  expect_usage_error({"--json", "--list"}, "--json: '--list' is an option");
  expect_usage_error({"compare", "a", "b", "--json=", "x"}, "--json: the value is empty");
  expect_usage_error({"compare", "a", "b", "--json", "--threshold"}, "'--threshold' is an option");
  expect_usage_error({"-T", "-1"}, "--timeout must be above 0");
  expect_usage_error({"--workers"}, "--workers");
  expect_usage_error({"algos", "show"}, "NAME");
  expect_usage_error({"-A", "ring", "-W", "2", "--groups", "0,2;1,3"},
                     "groups: a rank must be at most 1 (got 2)");
}

TEST_F(UsageTest, AVariableThatIsNoSettingIsRefused) {
  const CommandOutcome misspelt = invoke(folder_, {"algos", "list"}, {{"COLLBENCH_WORKRES", "2"}});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("COLLBENCH_WORKRES is not a collbench setting. Did you mean "
                                      "'COLLBENCH_WORKERS'?"));
  // Of another command, whose options are not declared unless a variable asks for them.
  const CommandOutcome other = invoke(folder_, {"algos", "list"}, {{"COLLBENCH_MODEL", "mlp"}});
  EXPECT_EQ(other.code, 0) << other.err;
}

TEST_F(UsageTest, OptionsOfTheCommandAskedForAreDeclaredWhereverItStands) {
  expect_usage_error({"select", "--worker", "8"}, "'--workers'");
  expect_usage_error({"topo", "show", "--frm", "x"}, "'--from'");
  EXPECT_THAT(run({"select", "--help"}).out, HasSubstr("--explain"));
  EXPECT_THAT(run({"help", "select"}).out, HasSubstr("--explain"));
  EXPECT_THAT(run({"--help"}).out, HasSubstr("--version"));
  EXPECT_THAT(run({"run", "--list", "--algo", "ring", "-W", "2"}).out, HasSubstr("ring"));
}

TEST_F(UsageTest, FlagsOfOtherBenchmarksAreAnsweredWithOurs) {
  expect_usage_error({"-g", "8"}, "'-g': GPUs of a thread in nccl-tests; here");
  expect_usage_error({"run", "--nthreads=2"}, "all workers together are --workers (-W)");
  expect_usage_error({"-o", "sum"}, "the operator in nccl-tests; here --op");
  expect_usage_error({"-m", "4:1M"}, "-m MIN:MAX of OSU is -b MIN -e MAX here");
  expect_usage_error({"-x", "10"}, "--warmup-iters (-w)");
  const CommandOutcome all = run({"--list", "--algo", "ring", "-d", "all", "--op", "sum,max"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, AllOf(HasSubstr(" bf16 max "), HasSubstr(" u8 sum ")));
}

TEST_F(UsageTest, DefaultsStandInBracketsAndAreTheValuesUsed) {
  EXPECT_THAT(run({"help", "ab"}).out, HasSubstr("screening decides [40]"));
  EXPECT_THAT(run({"help", "topo", "convert"}).out, HasSubstr("- is standard output [-]"));
  EXPECT_THAT(run({"algos", "verify", "ring"}).out, ContainsRegex(" 64 worker .*\n# 1 algorithm,"));
}

TEST_F(UsageTest, TheListOfAlgorithmsNamesAllBlackBoxes) {
  EXPECT_THAT(run({"algos", "list"}).out, HasSubstr("gloo, mpi, nccl"));
}

TEST_F(UsageTest, WhatIsNotHereIsNotAUsageError) {
  const CommandOutcome nccl =
      invoke(folder_, {"--algo", "nccl"}, {{"COLLBENCH_NCCL_LIBRARY", "/nonexistent/libnccl.so"}});
  EXPECT_EQ(nccl.code, 4);
  EXPECT_THAT(nccl.err, HasSubstr("back end 'nccl' is not usable: "));
  EXPECT_THAT(nccl.err, HasSubstr("collbench doctor"));
  EXPECT_EQ(run({"--config", "missing.toml"}).code, 4);
  EXPECT_EQ(run({"-b", "1K", "-e", "1K", "--csv", "/nonexistent/x.csv"}).code, 4);
}

TEST_F(UsageTest, DevicesAreNamedInBothSpellingsAndAWrongNameIsRefusedThoughUnused) {
  for (const char* devices : {"0,1", "gpu:0,gpu:1"}) {
    EXPECT_EQ(run({"--list", "--algo", "ring", "--devices", devices}).code, 0) << devices;
  }
  const CommandOutcome wrong = run({"--list", "--algo", "ring", "--devices", "0,cpu:1"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--devices: 'cpu:1' is not a GPU"));
}

TEST_F(UsageTest, ListAndDryRunMeasureNothing) {
  const CommandOutcome list = run({"--list", "--algo", "ring,direct", "-b", "1K", "-e", "4K"});
  EXPECT_EQ(list.code, 0);
  EXPECT_EQ(std::count(list.out.begin(), list.out.end(), '\n'), 4);
  EXPECT_THAT(list.out, Not(HasSubstr("#")));
  const CommandOutcome dry =
      run({"--dry-run", "--algo", "ring,direct", "-b", "1K", "-e", "4K", "-N", "3"});
  EXPECT_EQ(dry.code, 0);
  EXPECT_EQ(dry.out, "12 cases can run\n");
}

TEST_F(UsageTest, DryRunRefusesWhatWouldEndTheRun) {
  // Where a library is missing, that is the reason.
  for (const char* algorithms : {"gloo,gloo:nosuch", "mpi,mpi:nosuch"}) {
    const CommandOutcome unknown = run({"-A", algorithms, "-e", "4K", "--dry-run"});
    EXPECT_THAT(unknown.code, testing::AnyOf(2, 4)) << unknown.err;
    EXPECT_EQ(unknown.out, "");
  }
  for (const char* way : {"--dry-run", "--quiet"}) {
    const CommandOutcome large =
        run({"-A", "ring", "-b", "1K", "-e", "1T", "-f", "1073741824", way});
    EXPECT_EQ(large.code, 5);
    EXPECT_EQ(large.out, "");
    EXPECT_THAT(large.err, HasSubstr("2 workers with 1 buffer of 1 TiB each need 2 TiB"));
  }
}

TEST_F(UsageTest, TwoOutputsToOneFileAreRefused) {
  expect_usage_error({"-e", "1K", "--json", "x", "--csv", "./x"},
                     "--json and --csv name the same file, './x'");
  const CommandOutcome null =
      run({"-A", "ring", "-e", "1K", "-n", "5", "--json", "/dev/null", "--csv", "/dev/null"});
  EXPECT_EQ(null.code, 0) << null.err;
}

TEST_F(UsageTest, AFullDiskUnderTheHelpIsAnError) {
  const CommandOutcome help =
      invoke_program(folder_, "bash", {"-c", COLLBENCH_BINARY " --help > /dev/full"});
  EXPECT_EQ(help.code, 5);
  EXPECT_THAT(help.err, HasSubstr("could not write to standard output"));
}

TEST_F(UsageTest, VersionsAgree) {
  EXPECT_THAT(run({"--version"}).out, StartsWith("collbench 0."));
  EXPECT_EQ(run({"--version"}).out, run({"version"}).out);
}

TEST_F(UsageTest, AlgosShowsWhatEveryRankDoes) {
  const CommandOutcome shown = run({"algos", "show", "ring", "-W", "2"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, HasSubstr("3>1 sends chunk 3 to rank 1"));
  EXPECT_THAT(shown.out, HasSubstr("2 rounds, 2 chunks"));
  EXPECT_THAT(run({"algos"}).out, HasSubstr("double-tree"));
  EXPECT_EQ(run({"algos"}).out, run({"algos", "list"}).out);
}

TEST_F(UsageTest, AlgosExportsForOtherPrograms) {
  EXPECT_THAT(run({"algos", "show", "ring", "-W", "4", "--format", "msccl"}).out,
              StartsWith("<algo "));
  EXPECT_THAT(run({"algos", "show", "ring", "-W", "4", "--format", "mscclpp"}).out,
              StartsWith("{\"name\":\"ring\",\"collective\":\"allreduce\""));
  EXPECT_THAT(run({"algos", "show", "ring", "-W", "4", "--format", "goal"}).out,
              HasSubstr("num_ranks 4"));
  EXPECT_THAT(run({"algos", "show", "ring", "-W", "2", "--format", "markdown"}).out,
              StartsWith("| rank | round 0 | round 1 |\n|---|---|---|\n| 0 |"));
}

TEST_F(UsageTest, AlgosCountsWhatSharesOfChosenSizesMake) {
  const std::vector<std::string> asked = {"algos",    "show",         "ring",      "--counts",
                                          "14,1,1,0", "--collective", "all-gather"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = asked;
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  // Each rank passes on all shares but the next one's, and that may be the empty one.
  EXPECT_THAT(with({}).out, HasSubstr("at most 1 M sent"));
  EXPECT_THAT(run({"algos", "show", "ring", "--collective", "all-gather"}).out,
              HasSubstr("at most 0.75 M sent"));
  const std::string goal = with({"--format", "goal"}).out;
  EXPECT_THAT(goal, HasSubstr("send 56b to 1"));
  EXPECT_EQ(goal.find("send 0b"), std::string::npos);
  EXPECT_EQ(with({"--format", "msccl"}).code, 2);
  EXPECT_EQ(with({"-W", "3"}).code, 2);
}

TEST_F(UsageTest, AlgosVerifyProvesTheRegistry) {
  const CommandOutcome all = run({"algos", "verify", "--workers", "1:9"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.out, HasSubstr("ring                 proven for 9 worker counts"));
  EXPECT_THAT(all.out, HasSubstr(" 0 wrong"));
  EXPECT_THAT(run({"algos", "verify", "swing", "-W", "8"}).out, HasSubstr("proven for 1"));
  EXPECT_EQ(run({"algos", "verify", "swing", "-W", "6"}).code, 2);
}

TEST_F(UsageTest, BashCompletionLoadsAndCompletes) {
  folder_.write("completion.bash", run({"completion", "bash"}).out);
  const auto complete = [&](const std::string& words, int at) {
    return invoke_program(folder_, "bash",
                          {"-c", "source ./completion.bash && COMP_WORDS=(" + words +
                                     ") COMP_CWORD=" + std::to_string(at) +
                                     " && _collbench && echo \"${COMPREPLY[@]}\""})
        .out;
  };
  EXPECT_EQ(complete("collbench do", 1), "doctor\n");
  EXPECT_EQ(complete("collbench --alg", 1), "--algo\n");
  EXPECT_EQ(complete("collbench --algo double", 2), "double-tree\n");
  EXPECT_EQ(complete("collbench --format mark", 2), "markdown\n");
  EXPECT_EQ(complete("collbench --columns of", 2), "of-bound\n");
  EXPECT_EQ(complete("collbench algos ver", 2), "verify\n");
  EXPECT_EQ(complete("collbench algos verify --wor", 3), "--workers\n");
  EXPECT_EQ(complete("collbench run --alg", 2), "--algo\n");
  EXPECT_EQ(complete("collbench simulate --engine ''", 3), "auto model quotient fluid simgrid\n");
  EXPECT_EQ(complete("collbench train --engine pl", 3), "plain\n");
  EXPECT_EQ(complete("collbench train --strategy t", 3), "tpu\n");
  EXPECT_EQ(complete("collbench run --observe completion", 3), "completion.bash\n");
}

// Neither shell is needed: zsh takes bash's script, and fish's is a list.
TEST_F(UsageTest, CompletionForZshAndFishKnowsTheSame) {
  const std::string bash = run({"completion", "bash"}).out;
  const std::string zsh = run({"completion", "zsh"}).out;
  EXPECT_THAT(zsh, StartsWith("#compdef collbench\n"));
  EXPECT_THAT(zsh, HasSubstr(bash));
  const std::string fish = run({"completion", "fish"}).out;
  EXPECT_THAT(fish, HasSubstr("-n '__fish_use_subcommand' -f -a simulate -d "));
  EXPECT_THAT(fish, ContainsRegex("-n '__fish_seen_subcommand_from algos; and not "
                                  "__fish_seen_subcommand_from [^']*show[^']*' -f -a verify -d "));
  EXPECT_THAT(fish, HasSubstr("-n '__fish_seen_subcommand_from topo; and "
                              "__fish_seen_subcommand_from show' -l "));
  EXPECT_THAT(fish, ContainsRegex("-l algo -s A -r -a '[^']*double-tree"));
  EXPECT_EQ(run({"completion", "tcsh"}).code, 2);
}

// Ranks share a terminal: what one writes in pieces, others come between.
TEST_F(UsageTest, AnErrorIsWrittenInOnePiece) {
  const CommandOutcome pieces =
      invoke_program(folder_, "python3",
                     {"-c",
                      "import socket, subprocess, sys\n"
                      "ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                      "subprocess.run([sys.argv[1], '--algo', 'rong', '-W', '2'], stderr=its)\n"
                      "its.close()\n"
                      "print(len(list(iter(lambda: ours.recv(65536), b''))))",
                      COLLBENCH_BINARY});
  EXPECT_EQ(pieces.out, "1\n") << pieces.err;
}

TEST_F(UsageTest, DoctorSpeaksJsonToo) {
  EXPECT_THAT(run({"doctor"}).out, ContainsRegex("\n  shm .*\n  onednn +(usable|absent) "));
  folder_.write("doctor.json", run({"doctor", "--format", "json"}).out);
  const CommandOutcome read =
      invoke_program(folder_, "python3",
                     {"-c",
                      "import json; d = json.load(open('doctor.json')); "
                      "print(d['backends'][0]['name'], len(d['engines']))"});
  EXPECT_EQ(read.out, "shm 3\n");
}

}  // namespace
}  // namespace collbench

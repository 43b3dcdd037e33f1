// Where settings come from, seen from outside: flag > environment > --config > files > default.
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The line of --dump-config for a key, its blanks squeezed; of a default without the first '#'.
std::string dumped(const CommandOutcome& outcome, const std::string& key) {
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# " + key + " = ")) line.erase(0, 2);
    if (line.rfind(key + " = ", 0) == 0) return std::regex_replace(line, std::regex(" +"), " ");
  }
  return "absent";
}

class PrecedenceTest : public testing::Test {
 protected:
  PrecedenceTest() { folder_.write(".config/collbench/config.toml", "workers = 3\nseed = 3\n"); }
  std::string workers(std::vector<std::string> arguments,
                      const std::map<std::string, std::string>& environment = {}) {
    arguments.emplace_back("--dump-config");
    const CommandOutcome outcome = invoke(folder_, arguments, environment);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return dumped(outcome, "workers");
  }
  RunFolder folder_;
};

TEST_F(PrecedenceTest, AHomeThatCannotBeLookedIntoHasNoSettings) {
  // Asking for a file in it fails, for every user, as in a folder that others may not enter.
  EXPECT_EQ(workers({}, {{"XDG_CONFIG_HOME", "/" + std::string(5000, 'a')}}),
            "workers = \"2\" # default");
}

TEST_F(PrecedenceTest, EachSourceBeatsTheOnesBelowIt) {
  EXPECT_EQ(workers({}),
            "workers = \"3\" # " + folder_.path() + "/.config/collbench/config.toml:1");
  folder_.write("collbench.toml", "# mine\nworkers = 4\n");
  EXPECT_EQ(workers({}), "workers = \"4\" # ./collbench.toml:2");
  folder_.write("given.toml", "workers = 5\n");
  EXPECT_EQ(workers({"--config", "given.toml"}), "workers = \"5\" # given.toml:1");
  const std::map<std::string, std::string> environment = {{"COLLBENCH_WORKERS", "6"}};
  EXPECT_EQ(workers({"--config", "given.toml"}, environment),
            "workers = \"6\" # COLLBENCH_WORKERS");
  EXPECT_EQ(workers({"--config", "given.toml", "-W", "7"}, environment), "workers = \"7\" # flag");
}

TEST_F(PrecedenceTest, FilesAddUp) {
  folder_.write("collbench.toml", "workers = 4\n");
  const CommandOutcome outcome = invoke(folder_, {"--dump-config"});
  EXPECT_THAT(dumped(outcome, "seed"), HasSubstr("seed = \"3\""));
  EXPECT_THAT(dumped(outcome, "workers"), HasSubstr("workers = \"4\""));
  EXPECT_EQ(dumped(outcome, "algo"), "algo = \"auto\" # default");
}

TEST_F(PrecedenceTest, VerboseSaysWhereEachValueCameFrom) {
  const CommandOutcome outcome =
      invoke(folder_, {"-v", "--list", "-b", "4K", "-e", "4K"}, {{"COLLBENCH_OP", "max"}});
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("op = max (COLLBENCH_OP)"),
                                 HasSubstr("minbytes = 4K (flag)"), HasSubstr("config.toml:1)")));
}

TEST_F(PrecedenceTest, ADumpedConfigurationGivesTheSameSettings) {
  const CommandOutcome first =
      invoke(folder_, {"--dump-config", "-A", "ring:segments=2,tree", "--isolate"});
  folder_.write("again.toml", first.out);
  const CommandOutcome again = invoke(folder_, {"--dump-config", "--config", "again.toml"});
  EXPECT_EQ(again.code, 0) << again.err;
  const std::regex source("#.*");
  EXPECT_EQ(std::regex_replace(again.out, source, ""), std::regex_replace(first.out, source, ""));
}

TEST_F(PrecedenceTest, ACaseRunsWithADumpedConfiguration) {
  folder_.write("collbench.toml", invoke(folder_, {"--dump-config"}).out);
  const CommandOutcome outcome =
      invoke(folder_, {"-A", "ring", "-b", "1K", "-e", "1K", "-n", "2", "-W", "2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(PrecedenceTest, AFlagBeatsTheSettingThatItExcludes) {
  folder_.write("collbench.toml", "stepbytes = \"4K\"\nout-of-place = true\n");
  const CommandOutcome outcome =
      invoke(folder_, {"--list", "-b", "1K", "-e", "4K", "-f", "2", "--in-place"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
  EXPECT_THAT(outcome.out, Not(HasSubstr("out of place")));
}

TEST(ConfigErrorTest, AMisspeltKeyIsNamedWithTheNearestOne) {
  RunFolder folder;
  folder.write("collbench.toml", "algo = \"ring\"\nworkes = 8\n");
  const CommandOutcome outcome = invoke(folder, {"--list"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("./collbench.toml:2: unknown key 'workes'. Did you mean "
                                     "'workers'?"));
}

TEST(ConfigErrorTest, AWrongValueIsNamedWithItsSource) {
  RunFolder folder;
  folder.write("collbench.toml", "\nworkers = 0\n");
  EXPECT_THAT(invoke(folder, {"--list"}).err,
              HasSubstr("--workers (from ./collbench.toml:2) must be at least 1 (got 0)"));
  EXPECT_THAT(invoke(folder, {"--list", "-W2", "-d", "all,junk"}).err, HasSubstr("junk"));
  EXPECT_THAT(invoke(folder, {"history", "show", ""}).err, HasSubstr(": CASE: the value is empty"));
  EXPECT_THAT(invoke(folder, {"report", "-"}).err, HasSubstr("standard input is /dev/stdin"));
  EXPECT_THAT(invoke(folder, {"--list", "-W2"}, {{"COLLBENCH_ISOLATE", "maybe"}}).err,
              HasSubstr("COLLBENCH_ISOLATE: 'isolate' is a switch: true or false, not 'maybe'"));
}

TEST(ConfigErrorTest, AFileThatIsTooLargeForSettingsIsNotReadToItsEnd) {
  const CommandOutcome outcome = invoke(RunFolder(), {"--list", "--config=/dev/zero"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("'/dev/zero' is larger than 1 MiB, the most that is read"));
}

TEST(ConfigErrorTest, ASwitchThatIsGivenAValueHasThatValue) {
  RunFolder folder;
  folder.write("collbench.toml", "quiet = true\n");
  const auto quiet = [&](const std::string& flag) {
    return dumped(invoke(folder, {"--dump-config", flag}), "quiet");
  };
  EXPECT_EQ(quiet("--quiet"), "quiet = true # flag");
  EXPECT_EQ(quiet("-q"), "quiet = true # flag");
  EXPECT_EQ(quiet("--quiet=1"), "quiet = true # flag");
  EXPECT_EQ(quiet("--quiet=false"), "quiet = false # flag") << "and it beats the file";
  const CommandOutcome wrong = invoke(folder, {"--list", "--isolate=banana"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--isolate: 'isolate' is a switch: true or false, not"));
}

TEST(ConfigErrorTest, SettingsAboutSettingsAreNoKeys) {
  RunFolder folder;
  folder.write("collbench.toml", "dump-config = true\n");
  EXPECT_EQ(invoke(folder, {"--list"}).code, 2);
}

TEST(ConfigErrorTest, WhatToDoInsteadIsNoVariable) {
  RunFolder folder;
  for (const char* name : {"CONFIG", "DRY_RUN", "DUMP_CONFIG", "HELP", "LIST", "VERSION"}) {
    const std::string variable = "COLLBENCH_" + std::string(name);
    const CommandOutcome outcome = invoke(folder, {"--list", "-b", "1K"}, {{variable, "1"}});
    EXPECT_EQ(outcome.code, 2) << name;
    EXPECT_THAT(outcome.err, HasSubstr(variable + " is not a collbench setting."));
  }
}

TEST(UnreadFlagsTest, AreNamedAfterTheCommandAndReadOnesAreNot) {
  RunFolder folder;
  const std::vector<std::string> bound = {"synth", "--topo", "star:3,1Gbps,1us", "--bound"};
  EXPECT_EQ(invoke(folder, bound).err, "");
  std::vector<std::string> more = bound;
  more.insert(more.end(), {"--msccl", "x.xml", "--objective", "64M", "--json"});
  const CommandOutcome outcome = invoke(folder, more);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "collbench: warning: --objective, --msccl had no effect here\n");
  const CommandOutcome step = invoke(
      folder, {"train", "--workload", "resnet50", "--topo", "star:4,1Gbps,1us", "--widths", "3"});
  EXPECT_THAT(step.err, HasSubstr("warning: --widths had no effect here"));
}

TEST(UnreadFlagsTest, OptionsOfWhatASimulationOrAReportDoesNotHaveAreNamed) {
  RunFolder folder;
  const std::string end = " had no effect here\n";
  const CommandOutcome simulated =
      invoke(folder, {"simulate", "-t", "star:4,1Gbps,5us", "-A", "ring", "-b", "1K", "-e", "1K",
                      "-q", "--root", "2", "--seed", "7", "--json", "a.json"});
  EXPECT_EQ(simulated.err, "collbench: warning: --root, --seed" + end);
  const CommandOutcome shown =
      invoke(folder, {"report", "a.json", "--title", "mine", "--repository", "https://x"});
  EXPECT_EQ(shown.err, "collbench: warning: --repository, --title" + end);
  EXPECT_EQ(invoke(folder, {"report", "a.json", "--title", "mine", "--html", "a.html"}).err, "");
}

TEST(UnreadFlagsTest, OptionsOfWhatARunDoesNotHaveAreNamed) {
  RunFolder folder;
  const auto warning = [&](std::vector<std::string> options) {
    for (const char* word : {"-A", "ring", "-b", "1K", "-e", "1K", "-q"})
      options.emplace_back(word);
    const CommandOutcome outcome = invoke(folder, options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err;
  };
  const std::vector<std::vector<std::string>> options = {
      {"--transport", "tcp"},  {"--executor", "graph"}, {"--devices", "gpu:0"},
      {"--nccl-library", "x"}, {"--root", "3"},         {"--raw-samples"}};
  for (std::vector<std::string> option : options) {
    const std::string name = option.front();
    option.insert(option.end(), {"-n", "5"});
    EXPECT_EQ(warning(option), "collbench: warning: " + name + " had no effect here\n");
  }
  EXPECT_EQ(warning({"-n", "5", "--target-ci", "1%"}),
            "collbench: warning: --target-ci had no effect here\n");
  EXPECT_EQ(warning({"--format", "csv", "--columns", "size", "--max-time", "0.05"}),
            "collbench: warning: --columns had no effect here\n");
  EXPECT_EQ(warning({"--columns", "size", "--max-time", "0.05"}), "");
  EXPECT_EQ(warning({"--raw-samples", "--csv", "x.csv", "--max-time", "0.05"}), "");
}

}  // namespace
}  // namespace collbench

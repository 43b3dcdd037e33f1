// How workers started by anything find each other, and what is told if they are not one run. Every
// rank is a process.
#include <chrono>
#include <csignal>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/background.h"
#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Arguments small_run = {"run", "--algo", "ring", "-b", "1K", "-e",
                             "1K",  "-n",     "5",    "-T", "20"};

Arguments operator+(Arguments left, const Arguments& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

const Arguments mpirun = {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                          "OMPI_MCA_rmaps_base_oversubscribe=1", "mpirun", "-n"};

class MembershipTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_grpc()) GTEST_SKIP() << "this build has no gRPC";
    port_ = std::stoi(free_addresses(1)[0].substr(10));
  }

  std::future<CommandOutcome> start(const Variables& variables, const Arguments& further = {}) {
    return std::async(std::launch::async,
                      [=, this] { return invoke(folder_, small_run + further, variables); });
  }

  bool has_open_mpi() {
    const CommandOutcome version = invoke_program(folder_, "mpirun", {"--version"});
    return version.out.find("Open MPI") != std::string::npos;
  }

  bool may_have_namespaces() {
    return invoke_program(folder_, "unshare", {"-Urum", "true"}).code == 0;
  }

  /// On a machine of this name, whose file of hosts has this text.
  std::future<CommandOutcome> start_at(const std::string& name, const std::string& hosts,
                                       const std::string& variable, const Arguments& further) {
    folder_.write(name, hosts);
    const std::string script =
        "mount --bind " + name + " /etc/hosts && hostname " + name + " && exec \"$@\"";
    return std::async(std::launch::async, [=, this] {
      return invoke_program(
          folder_, "unshare",
          Arguments{"-Urum", "env", variable, "COLLBENCH_JOB_TOKEN=a secret of this test", "sh",
                    "-c", script, "sh", COLLBENCH_BINARY} +
              small_run + further);
    });
  }

  /// What torchrun tells rank `rank`, on a port of this test.
  Variables torchrun(int rank, int ranks, const std::string& host = "127.0.0.1") const {
    return {{"RANK", std::to_string(rank)},
            {"WORLD_SIZE", std::to_string(ranks)},
            {"MASTER_ADDR", host},
            {"MASTER_PORT", std::to_string(port_ - 1)}};
  }

  /// All ranks measure, and say by whom they were started.
  void expect_run(std::vector<std::future<CommandOutcome>> ranks, const std::string& source) {
    const CommandOutcome zero = ranks[0].get();
    EXPECT_EQ(zero.code, 0) << zero.err;
    EXPECT_THAT(zero.out, HasSubstr("all results correct"));
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      const CommandOutcome other = ranks[rank].get();
      EXPECT_EQ(other.code, 0) << other.err;
      EXPECT_THAT(other.err, HasSubstr("measured as worker " + std::to_string(rank) + " of " +
                                       std::to_string(ranks.size()) + " (by " + source + ")"));
    }
  }

  RunFolder folder_;
  int port_ = 0;
};

TEST_F(MembershipTest, EachLaunchersVariablesMakeARunAndAreNamed) {
  const std::string master = std::to_string(port_ - 1);
  struct Launcher {
    std::string source;
    Variables (*variables)(const std::string& rank);
  };
  for (const Launcher& launcher :
       {Launcher{
            "torchrun",
            [](const std::string& rank) {
              return Variables{{"RANK", rank}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "127.0.0.1"}};
            }},
        Launcher{"Open MPI",
                 [](const std::string& rank) {
                   return Variables{{"OMPI_COMM_WORLD_RANK", rank},
                                    {"OMPI_COMM_WORLD_SIZE", "3"},
                                    {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                                    {"PMIX_RANK", rank}};
                 }},
        Launcher{
            "PMI",
            [](const std::string& rank) {
              return Variables{{"PMI_RANK", rank}, {"PMI_SIZE", "3"}, {"MPI_LOCALNRANKS", "3"}};
            }},
        Launcher{"Slurm",
                 [](const std::string& rank) {
                   return Variables{{"SLURM_PROCID", rank},
                                    {"SLURM_STEP_NUM_TASKS", "3"},
                                    {"SLURM_STEP_NODELIST", "127.0.0.[1-2]"}};
                 }},
        Launcher{"PMIx", [](const std::string& rank) {
                   return Variables{
                       {"PMIX_RANK", rank}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "127.0.0.1"}};
                 }}}) {
    std::vector<std::future<CommandOutcome>> ranks(3);
    for (const int rank : {2, 0, 1}) {
      Variables variables = launcher.variables(std::to_string(rank));
      variables["MASTER_PORT"] = master;
      ranks[static_cast<std::size_t>(rank)] = start(variables);
    }
    expect_run(std::move(ranks), launcher.source);
  }
}

TEST_F(MembershipTest, TfConfigMakesARunToo) {
  const Arguments hosts = free_addresses(2);
  std::vector<std::future<CommandOutcome>> ranks;
  for (const char* index : {"0", "1"}) {
    ranks.push_back(
        start({{"TF_CONFIG", R"({"cluster":{"worker":[")" + hosts[0] + R"(",")" + hosts[1] +
                                 R"("]},"task":{"type":"worker","index":)" + index + "}}"}}));
  }
  expect_run(std::move(ranks), "TF_CONFIG");
}

TEST_F(MembershipTest, OptionsNameAMeetingInsteadOfAllHosts) {
  std::vector<std::future<CommandOutcome>> ranks;
  const std::string bootstrap = "127.0.0.1:" + std::to_string(port_);
  for (const char* rank : {"0", "1"}) {
    ranks.push_back(
        start({}, {"--rank", rank, "-W", "2", "--meet", bootstrap, "--json", "out.json"}));
  }
  expect_run(std::move(ranks), "--rank");
  EXPECT_THAT(folder_.read("out.json"),
              AllOf(HasSubstr("\"launcher\": \"--rank\""), HasSubstr("\"hosts\": \"127.0.0.1:")));
}

TEST_F(MembershipTest, MpirunNeedsNoOtherFlag) {
  if (!has_open_mpi()) GTEST_SKIP() << "no Open MPI here";
  const CommandOutcome outcome = invoke_program(
      folder_, "env", mpirun + Arguments{"4", "--bind-to", "none", COLLBENCH_BINARY} + small_run);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("workers=4"), HasSubstr("all results correct")));
  for (const char* rank : {"1", "2", "3"}) {
    EXPECT_THAT(outcome.err,
                HasSubstr(std::string("measured as worker ") + rank + " of 4 (by Open MPI)"));
  }
}

// A library plays what it is asked for as one all-reduce of all ranks.
TEST_F(MembershipTest, WhatABackEndCannotDoIsRefusedUnderMpirunToo) {
  if (!has_open_mpi()) GTEST_SKIP() << "no Open MPI here";
  const auto refusal_of = [&](const Arguments& asked) {
    const CommandOutcome outcome = invoke_program(
        folder_, "env",
        mpirun + Arguments{"2", COLLBENCH_BINARY} + small_run + Arguments{"--algo", "mpi"} + asked);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.out.find("in place"), std::string::npos) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(refusal_of({"--groups", "2x1"}), HasSubstr("groups are played by schedules"));
  EXPECT_THAT(refusal_of({"--checksum"}), HasSubstr("checksums and injected faults are for"));
  EXPECT_THAT(refusal_of({"--inject", "corrupt:rank=1"}), HasSubstr("'mpi' hides its own"));
}

TEST_F(MembershipTest, RanksOfOneMachineShareItsMemoryBesideMpiAndMessages) {
  if (!has_open_mpi()) GTEST_SKIP() << "no Open MPI here";
  const CommandOutcome with_mpi =
      invoke_program(folder_, COLLBENCH_BINARY, {"-A", "mpi", "-W", "2", "--dry-run"});
  if (with_mpi.code == 4) GTEST_SKIP() << with_mpi.err;
  const Arguments of_two = mpirun + Arguments{"2", COLLBENCH_BINARY};
  const Arguments sizes = {"-b", "1K", "-e", "1K", "-n", "20", "--json", "-"};
  const CommandOutcome usual =
      invoke_program(folder_, "env", of_two + Arguments{"-A", "ring"} + sizes);
  EXPECT_EQ(usual.code, 0) << usual.err;
  EXPECT_THAT(usual.out, AllOf(HasSubstr(R"("backend":"shm")"), HasSubstr(R"("isolate":true)")));
  const CommandOutcome mixed = invoke_program(
      folder_, "env",
      of_two + Arguments{"-A", "ring@shm,mpi,ring@grpc", "--skip-unavailable"} + sizes);
  EXPECT_EQ(mixed.code, 0) << mixed.err;
  for (const char* backend : {"shm", "mpi", "grpc"}) {
    EXPECT_THAT(mixed.out, HasSubstr("\"backend\":\"" + std::string(backend) + "\""));
  }
  EXPECT_THAT(mixed.out, Not(ContainsRegex("\"wrong_elements\":[1-9]")));
  const CommandOutcome once =
      invoke_program(folder_, "env", of_two + Arguments{"algos", "show", "ring"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(once.out, invoke(folder_, {"algos", "show", "ring"}).out);
}

TEST_F(MembershipTest, ALostRankEndsTheOthersThatShareItsMemoryAtOnceAndByName) {
  const auto rank = [&](const std::string& number) {
    Variables variables = torchrun(std::stoi(number), 2);
    variables["LOCAL_WORLD_SIZE"] = "2";
    return variables;
  };
  const Arguments endless = {"-A",  "ring", "-b",        "64K", "-e",
                             "64K", "-n",   "100000000", "-T",  "600"};
  const BackgroundProcess zero(folder_, endless, rank("0"), "zero");
  const BackgroundProcess one(folder_, endless, rank("1"), "one");
  std::this_thread::sleep_for(3s);
  zero.signal(SIGKILL);
  zero.wait();
  EXPECT_EQ(one.wait(), 5);
  EXPECT_THAT(folder_.read("one"), HasSubstr("rank 0 ended"));
}

TEST_F(MembershipTest, PodsOfAnIndexedJobFindEachOtherByTheirNames) {
  // A pod is a process with a host name and a file of hosts of its own.
  const std::string hosts =
      "127.0.0.1 localhost\n127.0.0.2 job-0.service\n127.0.0.3 job-1.service\n";
  const auto pod = [&](const std::string& index) {
    return start_at("job-" + index,
                    "127.0.0." + std::to_string(2 + std::stoi(index)) + " job-" + index +
                        ".service job-" + index + "\n" + hosts,
                    "JOB_COMPLETION_INDEX=" + index, {"-W", "2"});
  };
  if (!may_have_namespaces()) GTEST_SKIP() << "namespaces are not permitted here";
  std::vector<std::future<CommandOutcome>> ranks;
  for (const char* index : {"0", "1"}) ranks.push_back(pod(index));
  expect_run(std::move(ranks), "Kubernetes");
}

TEST_F(MembershipTest, Ipv6WorksByHostsAndByAMeetingWithAName) {
  const Arguments ports = free_addresses(3);
  const std::string hosts = "[::1]:" + ports[0].substr(10) + ",[::1]:" + ports[1].substr(10);
  std::vector<std::future<CommandOutcome>> ranks;
  for (const char* rank : {"0", "1"})
    ranks.push_back(start({}, {"--hosts", hosts, "--rank", rank}));
  const CommandOutcome zero = ranks[0].get();
  if (zero.err.find("cannot listen") != std::string::npos) GTEST_SKIP() << "no IPv6: " << zero.err;
  EXPECT_EQ(zero.code, 0) << zero.err;
  EXPECT_EQ(ranks[1].get().code, 0);

  if (!may_have_namespaces()) GTEST_SKIP() << "namespaces are not permitted here";
  ranks.clear();
  for (const char* rank : {"0", "1"}) {
    ranks.push_back(
        start_at(std::string("host") + rank, "127.0.0.1 localhost\n::1 alpha\n", "NO_COLOR=1",
                 {"--meet", "alpha:" + ports[2].substr(10), "-W", "2", "--rank", rank}));
  }
  expect_run(std::move(ranks), "--rank");
}

TEST_F(MembershipTest, AnInterfaceCanBeChosen) {
  std::vector<std::future<CommandOutcome>> ranks;
  for (const int rank : {0, 1}) ranks.push_back(start(torchrun(rank, 2), {"--interface", "lo"}));
  expect_run(std::move(ranks), "torchrun");
  const CommandOutcome wrong = start(torchrun(1, 2), {"--interface", "lo0"}).get();
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err,
              HasSubstr("no network interface 'lo0' has an address. Did you mean 'lo'?"));
}

TEST_F(MembershipTest, MissingRanksAreNamedOnEveryRankAfterTheTimeout) {
  auto zero = start(torchrun(0, 4), {"-T", "3"});
  auto two = start(torchrun(2, 4));
  const auto words = HasSubstr("rank 0 waited 3 s for ranks 1, 3 at the meeting 127.0.0.1:" +
                               std::to_string(port_));
  for (const CommandOutcome& outcome : {zero.get(), two.get()}) {
    EXPECT_EQ(outcome.code, 5);
    EXPECT_THAT(outcome.err, words);
  }
}

TEST_F(MembershipTest, ARankStartedTwiceEndsEveryRank) {
  // Rank 3 never comes, so rank 0 hears both twins before it has all.
  auto one = start(torchrun(1, 4));
  auto twin = start(torchrun(1, 4));
  auto two = start(torchrun(2, 4));
  std::this_thread::sleep_for(500ms);
  const CommandOutcome zero = start(torchrun(0, 4)).get();
  EXPECT_THAT(zero.err, HasSubstr("rank 1 was started twice"));
  for (const CommandOutcome& outcome : {zero, one.get(), twin.get(), two.get()}) {
    EXPECT_EQ(outcome.code, 5) << outcome.err;
  }
}

TEST_F(MembershipTest, ARankWhoseAddressIsTakenByItsTwinEndsEveryRank) {
  const Arguments hosts = free_addresses(4);
  const std::string list = hosts[0] + "," + hosts[1] + "," + hosts[2] + "," + hosts[3];
  std::vector<std::future<CommandOutcome>> ranks;
  for (const char* rank : {"0", "1", "2"}) {  // the fourth never comes
    ranks.push_back(start({}, {"--hosts", list, "--rank", rank}));
  }
  std::this_thread::sleep_for(1s);
  const CommandOutcome twin = start({}, {"--hosts", list, "--rank", "1"}).get();
  EXPECT_EQ(twin.code, 5);
  EXPECT_THAT(twin.err, HasSubstr("is rank 1 started twice?"));
  for (auto& rank : ranks) {
    const CommandOutcome outcome = rank.get();
    EXPECT_EQ(outcome.code, 5);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 is already here: it was started twice"));
  }
}

TEST_F(MembershipTest, ADifferenceIsNamedOnEveryRank) {
  struct Difference {
    Arguments arguments;
    const char* words;
  };
  for (const Difference& difference :
       {Difference{{"-d", "f64"}, "rank 2 has data type f64 where rank 0 has f32"},
        Difference{{"--algo", "tree"}, "rank 2 has algorithms tree where rank 0 has ring"},
        Difference{{"--seed", "7"}, "rank 2 has seed 7 where rank 0 has 1"}}) {
    std::vector<std::future<CommandOutcome>> ranks;
    for (const int rank : {0, 1}) ranks.push_back(start(torchrun(rank, 3)));
    ranks.push_back(start(torchrun(2, 3), difference.arguments));
    for (auto& rank : ranks) {
      const CommandOutcome outcome = rank.get();
      EXPECT_EQ(outcome.code, 5);
      EXPECT_THAT(outcome.err, HasSubstr(difference.words));
    }
  }
}

TEST_F(MembershipTest, AnotherWorldSizeIsNamedOnEveryRankThatHasCome) {
  auto zero = start(torchrun(0, 3));
  auto one = start(torchrun(1, 3));
  std::this_thread::sleep_for(500ms);
  auto two = start(torchrun(2, 4));
  for (const CommandOutcome& outcome : {zero.get(), one.get(), two.get()}) {
    EXPECT_EQ(outcome.code, 5);
    EXPECT_THAT(outcome.err,
                HasSubstr("rank 2 at 127.0.0.1 was started for 4 ranks, rank 0 for 3"));
  }
}

TEST_F(MembershipTest, ContradictionsBetweenSourcesAreUsageErrorsThatNameBoth) {
  struct Mistake {
    Variables variables;
    Arguments arguments;
    const char* words;
  };
  const Variables mpi = {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  for (const Mistake& mistake :
       {Mistake{mpi, {"--rank", "2"}, "--rank says rank 2, Open MPI says rank 1 of 4"},
        Mistake{mpi, {"--hosts", "a:1,b:1"}, "--hosts says 2 workers, Open MPI says rank 1 of 4"},
        Mistake{{{"COLLBENCH_RANK", "0"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}},
                {},
                "--rank says rank 0, torchrun says rank 1 of 2"},
        Mistake{torchrun(1, 2), {"-W", "3"}, "--workers is 3, but torchrun names 2 workers"},
        Mistake{torchrun(1, 2), {"-A", "gloo"}, "'gloo' starts its workers itself"},
        Mistake{torchrun(1, 2),
                {"--bind", "::1", "--interface", "lo"},
                "--bind and --interface both set the address to listen at"},
        Mistake{mpi, {}, "nothing says where rank 0 is: set MASTER_ADDR"},
        Mistake{{}, {"--launcher", "slrum"}, "Did you mean 'slurm'?"},
        Mistake{{{"TF_CONFIG",
                  R"({"cluster":{"worker":["a:1","b:1"]},"task":{"type":"evaluator","index":0}})"}},
                {},
                "TF_CONFIG makes this task the evaluator"}}) {
    const CommandOutcome outcome =
        invoke(folder_, small_run + mistake.arguments, mistake.variables);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(mistake.words));
  }
}

TEST_F(MembershipTest, ALaunchersVariablesCanBeIgnored) {
  const CommandOutcome outcome =
      invoke(folder_, small_run + Arguments{"--launcher", "none", "-B", "shm"}, torchrun(1, 2));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("backend=shm"));
}

TEST_F(MembershipTest, ManyWorkersOnFewCoresStartMeasureAndEnd) {
  std::vector<std::future<CommandOutcome>> ranks;
  for (int rank = 0; rank < 12; ++rank) ranks.push_back(start(torchrun(rank, 12), {"-T", "60"}));
  expect_run(std::move(ranks), "torchrun");
}

}  // namespace
}  // namespace collbench

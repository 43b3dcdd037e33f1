// Workers started one by one, as a user does in several terminals, over the loopback interface.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <future>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/background.h"
#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::EndsWith;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string joined(const Arguments& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

/// The columns, algorithm to count, that say what was measured and not how long it took.
Arguments cases_of(const std::string& csv) {
  std::istringstream lines(csv);
  Arguments rows;
  for (std::string line; std::getline(lines, line);) {
    std::string columns;
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 13 && std::getline(words, word, ','); ++i) columns += word + ",";
    rows.push_back(columns);
  }
  return rows;
}

class RemoteTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_grpc()) GTEST_SKIP() << "this build has no gRPC";
  }

  /// One rank in the background: quick cases, pinned nowhere, with its own further arguments.
  std::future<CommandOutcome> start(int rank, const Arguments& hosts, Arguments further = {},
                                    int signal = 0,
                                    const std::map<std::string, std::string>& environment = {}) {
    Arguments arguments = {"--hosts", joined(hosts), "--rank", std::to_string(rank),
                           "--algo",  "ring,direct", "-b",     "1K",
                           "-e",      "4K",          "-n",     "10",
                           "-T",      "20"};
    arguments.insert(arguments.end(), further.begin(), further.end());
    return std::async(std::launch::async,
                      [=, this] { return invoke(folder_, arguments, environment, signal); });
  }

  RunFolder folder_;
};

TEST_F(RemoteTest, RanksStartedInAnyOrderMeasureWhatSpawnedWorkersDo) {
  const CommandOutcome spawned =
      invoke(folder_, {"-B", "grpc", "-W", "3", "--algo", "ring,direct", "-b", "1K", "-e", "4K",
                       "-n", "10", "--max-time", "0.1", "--format", "csv"});
  ASSERT_EQ(spawned.code, 0) << spawned.err;
  for (const std::vector<int>& order : {std::vector<int>{2, 0, 1}, std::vector<int>{0, 1, 2}}) {
    const Arguments hosts = free_addresses(3);
    std::vector<std::future<CommandOutcome>> ranks(3);
    for (const int rank : order) {
      ranks[static_cast<std::size_t>(rank)] = start(rank, hosts, {"--format", "csv"});
      std::this_thread::sleep_for(300ms);
    }
    const CommandOutcome first = ranks[0].get();
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(cases_of(first.out), cases_of(spawned.out));
    for (const int rank : {1, 2}) {
      const CommandOutcome other = ranks[static_cast<std::size_t>(rank)].get();
      EXPECT_EQ(other.code, 0) << other.err;
      EXPECT_EQ(other.out, "");
      EXPECT_EQ(other.err, "[rank " + std::to_string(rank) + "] 4 cases measured as worker " +
                               std::to_string(rank) +
                               " of 3 (by --hosts); rank 0 has the figures\n");
    }
  }
}

TEST_F(RemoteTest, OnlyRankZeroWritesRecordsAndTheyNameTheHosts) {
  const Arguments hosts = free_addresses(2);
  auto other = start(1, hosts, {"--json", "one.json"});
  const CommandOutcome first = start(0, hosts, {"--json", "zero.json"}).get();
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(other.get().code, 0);
  EXPECT_THAT(folder_.read("zero.json"),
              AllOf(HasSubstr("\"hosts\": \"" + joined(hosts)), HasSubstr("\"clock\": \"one\"")));
  EXPECT_EQ(folder_.read("one.json"), "");
}

TEST_F(RemoteTest, EveryTransportAndAutoWork) {
  for (const Arguments& further : {Arguments{"--transport", "tf-recvbuf", "-e", "256K"},
                                   Arguments{"--algo", "auto", "-e", "256K", "-N", "2"}}) {
    const Arguments hosts = free_addresses(2);
    auto other = start(1, hosts, further);
    const CommandOutcome first = start(0, hosts, further).get();
    EXPECT_EQ(first.code, 0) << first.err;
    EXPECT_THAT(first.out, HasSubstr("all results correct"));
    EXPECT_EQ(other.get().code, 0);
  }
}

TEST_F(RemoteTest, ADifferenceIsNamedOnEveryRank) {
  struct Difference {
    Arguments arguments;
    std::string words;
  };
  for (const Difference& difference :
       {Difference{{"-d", "f64"}, "rank 2 has data type f64 where rank 0 has f32"},
        Difference{{"--algo", "tree"}, "rank 2 has algorithms tree where rank 0 has ring, direct"},
        Difference{{"-n", "20"}, "rank 2 has iterations 20 where rank 0 has 10"}}) {
    const Arguments hosts = free_addresses(3);
    std::vector<std::future<CommandOutcome>> ranks;
    for (const int rank : {0, 1}) ranks.push_back(start(rank, hosts));
    ranks.push_back(start(2, hosts, difference.arguments));
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const CommandOutcome outcome = ranks[rank].get();
      EXPECT_EQ(outcome.code, 5);
      EXPECT_EQ(outcome.out, "");
      EXPECT_THAT(outcome.err, EndsWith("[rank " + std::to_string(rank) +
                                        "] collbench: error: " + difference.words + "\n"));
    }
  }
}

TEST_F(RemoteTest, AKilledRankEndsTheOthersAndIsNamed) {
  const Arguments hosts = free_addresses(3);
  const Arguments endless = {"-N", "100000"};
  auto one = start(1, hosts, endless);
  auto two = start(2, hosts, endless);
  EXPECT_EQ(start(0, hosts, endless, SIGKILL).get().code, 128 + SIGKILL);
  for (const CommandOutcome& survivor : {one.get(), two.get()}) {
    EXPECT_EQ(survivor.code, 5);
    EXPECT_THAT(survivor.err, HasSubstr("collbench: error: rank 0 was lost"));
  }
}

TEST_F(RemoteTest, AnInterruptedRankStopsAllAndKeepsWhatWasMeasured) {
  const Arguments hosts = free_addresses(2);
  const Arguments endless = {"-N", "100000"};
  auto other = start(1, hosts, endless);
  const CommandOutcome first = start(0, hosts, endless, SIGTERM).get();
  EXPECT_EQ(first.code, 143);
  EXPECT_THAT(first.out, HasSubstr("# ended early after "));
  const CommandOutcome stopped = other.get();
  EXPECT_EQ(stopped.code, 5);
  EXPECT_THAT(stopped.err, HasSubstr("stopped by SIGTERM at rank 0"));
}

TEST_F(RemoteTest, AMissingRankIsNamedWhileWaitingAndAfterTheTimeout) {
  const Arguments hosts = free_addresses(2);
  const CommandOutcome outcome = start(0, hosts, {"-T", "3"}).get();
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err,
              AllOf(StartsWith("[rank 0] collbench: waiting for rank 1 at " + hosts[1] + " ("),
                    HasSubstr("rank 0 waited 3 s for rank 1 at " + hosts[1] + " ("),
                    HasSubstr(hosts[1] + " (Connection refused)"), Not(HasSubstr("ipv4:"))));
}

TEST_F(RemoteTest, ASignalEndsTheWaitForOthers) {
  const Arguments free = free_addresses(6);
  const std::string tasks = R"({"cluster":{"chief":[")" + free[3] + R"("],"worker":[")" + free[4] +
                            R"("],"ps":[")" + free[5] + R"("]},"task":{"type":"chief","index":0}})";
  const std::vector<std::pair<Arguments, Variables>> all = {
      {{"run", "--hosts", free[0] + "," + free[1], "--rank", "0", "-T", "60"}, {}},
      {{"run", "--meet", free[2], "--rank", "0", "-W", "2", "-T", "60"}, {}},
      {{"train", "--strategy", "parameter-server", "-T", "60"}, {{"TF_CONFIG", tasks}}}};
  for (const auto& [words, variables] : all) {
    const std::string log = "log of " + words[1];
    const BackgroundProcess waiting(folder_, words, variables, log);
    for (int i = 0; i < 400 && folder_.read(log).find("waiting for") == std::string::npos; ++i) {
      std::this_thread::sleep_for(50ms);
    }
    ASSERT_THAT(folder_.read(log), HasSubstr("waiting for"));
    const auto begin = std::chrono::steady_clock::now();
    waiting.signal(SIGTERM);
    EXPECT_EQ(waiting.wait(), 143) << folder_.read(log);
    EXPECT_THAT(folder_.read(log), HasSubstr("stopped by SIGTERM"));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  }
}

TEST_F(RemoteTest, AnotherTransportIsNamed) {
  const Arguments hosts = free_addresses(2);
  auto one = start(1, hosts, {"--transport", "tf-recvbuf"});
  const CommandOutcome zero = start(0, hosts, {"--transport", "tcp"}).get();
  const CommandOutcome other = one.get();
  EXPECT_EQ(zero.code, 5);
  EXPECT_EQ(other.code, 5);
  EXPECT_THAT(zero.err + other.err, HasSubstr("all ranks need the same --transport"));
}

TEST_F(RemoteTest, ARankStartedTwiceIsNamed) {
  const Arguments hosts = free_addresses(2);
  auto one = start(1, hosts, {"-T", "5"});
  auto twin = start(1, hosts, {"-T", "5"});
  const std::vector<CommandOutcome> outcomes = {one.get(), twin.get()};
  EXPECT_THAT(outcomes, Each(Field(&CommandOutcome::code, 5)));
  EXPECT_THAT(outcomes, testing::Contains(Field(&CommandOutcome::err,
                                                AllOf(HasSubstr("cannot listen on " + hosts[1]),
                                                      HasSubstr("is rank 1 started twice?")))));
}

TEST_F(RemoteTest, AnotherNumberOfWorkersIsNamedOnBothSides) {
  const Arguments hosts = free_addresses(3);
  auto one = start(1, {hosts[0], hosts[1]});
  const CommandOutcome zero = start(0, hosts).get();
  // Whose stream comes first decides which side of the difference is told.
  for (const CommandOutcome& outcome : {zero, one.get()}) {
    EXPECT_EQ(outcome.code, 5);
    EXPECT_THAT(outcome.err, AnyOf(HasSubstr("rank 1 was started for 2 ranks, this run has 3"),
                                   HasSubstr("rank 0 was started for 3 ranks, this run has 2")));
  }
}

TEST_F(RemoteTest, RanksWithoutTheSecretAreRefused) {
  folder_.write("secret", "open sesame\n");
  Arguments hosts = free_addresses(2);
  auto known = start(1, hosts, {}, 0, {{"COLLBENCH_JOB_TOKEN", "open sesame"}});
  EXPECT_EQ(start(0, hosts, {"--token-file", "secret"}).get().code, 0);
  EXPECT_EQ(known.get().code, 0);

  hosts = free_addresses(2);
  auto stranger = start(1, hosts, {"-T", "5"}, 0, {{"COLLBENCH_JOB_TOKEN", "open barley"}});
  const CommandOutcome zero = start(0, hosts, {"-T", "5", "--token-file", "secret"}).get();
  EXPECT_EQ(zero.code, 5);
  const CommandOutcome one = stranger.get();
  EXPECT_EQ(one.code, 5);
  // Who is refused first leaves, and the other one may never meet it.
  EXPECT_THAT(zero.err + one.err, HasSubstr("belongs to another run"));
}

TEST_F(RemoteTest, WrongOptionsAreUsageErrorsThatNameThem) {
  struct Mistake {
    Arguments arguments;
    std::string words;
  };
  const std::string two = "127.0.0.1:7101,127.0.0.1:7102";
  for (const Mistake& mistake :
       {Mistake{{"--rank", "0"}, "--rank needs --hosts"},
        Mistake{{"--hosts", two}, "--hosts needs --rank"},
        Mistake{{"--hosts", two, "--rank", "2"}, "--rank must be at most 1 (got 2)"},
        Mistake{{"--hosts", two, "--rank", "0", "-W", "3"}, "--workers is 3, but --hosts names 2"},
        Mistake{{"--hosts", two, "--rank", "0", "--algo", "gloo"},
                "'gloo' starts its workers itself"},
        Mistake{{"--hosts", "a:1,b", "--rank", "0"}, "'b' is not HOST:PORT"},
        Mistake{{"--hosts", "a:1,b:0", "--rank", "0"}, "must be at least 1 (got 0)"},
        Mistake{{"--hosts", "a:1,a:1", "--rank", "0"}, "'a:1' is listed twice"},
        Mistake{{"--bind", "0.0.0.0"}, "--bind needs --hosts"}}) {
    const CommandOutcome outcome = invoke(folder_, mistake.arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(mistake.words));
  }
}

TEST(LaunchedCommandTest, WhatRank0CarriesOutIsSaidByTheOthers) {
  const RunFolder folder;
  const auto torchrun = [](const char* rank) {
    return std::map<std::string, std::string>{{"RANK", rank},
                                              {"WORLD_SIZE", "2"},
                                              {"LOCAL_RANK", rank},
                                              {"MASTER_ADDR", "127.0.0.1"},
                                              {"MASTER_PORT", "29500"}};
  };
  const Arguments listed = {"topo", "list"};
  const CommandOutcome alone = invoke(folder, listed);
  EXPECT_EQ(invoke(folder, listed, torchrun("0")).out, alone.out);
  const CommandOutcome other = invoke(folder, listed, torchrun("1"));
  EXPECT_EQ(other.code, 0);
  EXPECT_EQ(other.out, "");
  EXPECT_THAT(other.err,
              HasSubstr("[rank 1] collbench: rank 0 of 2 (by torchrun) carries out 'topo'"));
  // Of pods that judge their own tables each, as of PMIx alone, nothing says that they are several.
  for (const char* index : {"JOB_COMPLETION_INDEX", "PMIX_RANK"}) {
    EXPECT_EQ(invoke(folder, listed, {{index, "3"}}).out, alone.out) << index;
  }
  const CommandOutcome profiled =
      invoke(folder, {"profile", "--", "touch", "started"},
             {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_EQ(profiled.code, 2);
  EXPECT_THAT(profiled.err, HasSubstr("put the launcher behind --, as in collbench profile -- "
                                      "mpirun -n 2 ./app"));
}

}  // namespace
}  // namespace collbench

// `collbench train --strategy parameter-server` as processes: chief, workers, servers, evaluator.
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/background.h"
#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class TrainServersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_grpc()) GTEST_SKIP() << "this build has no gRPC";
  }

  static Arguments command(const Arguments& further) {
    Arguments all = {"train",   "--strategy", "parameter-server", "--widths", "16",
                     "--steps", "10",         "--epochs",         "2",        "-T",
                     "20"};
    all.insert(all.end(), further.begin(), further.end());
    return all;
  }

  /// Addresses for a chief, workers and servers.
  void place(int workers, int servers) {
    const Arguments all = free_addresses(1 + workers + servers);
    const auto first = all.begin() + 1;
    cluster_ = {{"chief", {all[0]}},
                {"worker", Arguments(first, first + workers)},
                {"ps", Arguments(first + workers, all.end())}};
  }
  std::unique_ptr<BackgroundProcess> start(const std::string& type, int index,
                                           const Arguments& further = {}) {
    const nlohmann::json config{{"cluster", cluster_},
                                {"task", {{"type", type}, {"index", index}}}};
    return std::make_unique<BackgroundProcess>(folder_, command(further),
                                               Variables{{"TF_CONFIG", config.dump()}},
                                               type + std::to_string(index));
  }
  nlohmann::json document(const std::string& name) {
    return parse_json<nlohmann::json>(folder_.read(name));
  }
  std::string digest_of(const Arguments& further) {
    Arguments all = command(further);
    all.insert(all.end(), {"--json", "expected.json"});
    EXPECT_EQ(invoke(folder_, all).code, 0);
    return document("expected.json")["parameters_digest"];
  }

  RunFolder folder_;
  nlohmann::json cluster_;
};

const Arguments long_run = {"--steps",      "600", "--save-every", "20",
                            "--checkpoint", "ck",  "--resume"};

TEST_F(TrainServersTest, TasksStartedInAnyOrderTrainWhatThreadsDo) {
  const std::string expected = digest_of({"-W", "1", "--servers", "2"});
  place(1, 2);
  const auto worker = start("worker", 0);
  const auto second = start("ps", 1);
  std::this_thread::sleep_for(300ms);
  const auto chief = start("chief", 0, {"--json", "out.json"});
  const auto first = start("ps", 0);
  EXPECT_EQ(chief->wait(), 0) << folder_.read("chief0");
  EXPECT_EQ(worker->wait(), 0) << folder_.read("worker0");
  EXPECT_EQ(first->wait(), 0) << folder_.read("ps0");
  EXPECT_EQ(second->wait(), 0) << folder_.read("ps1");
  EXPECT_EQ(document("out.json")["parameters_digest"], expected);
  EXPECT_THAT(folder_.read("worker0"), HasSubstr("[worker 0] carried out 20 steps"));
}

TEST_F(TrainServersTest, OneCommandStartsItsTasksItself) {
  const CommandOutcome outcome =
      invoke(folder_, command({"--isolate", "-W", "2", "--servers", "2", "--json", "out.json"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("served to the end as ps 1 of 2"));
  EXPECT_EQ(document("out.json")["servers"], 2);
}

TEST_F(TrainServersTest, ReplicasOfAWorkerTrainTheSameInAProcessOfTheirOwn) {
  const Arguments two = {"-W", "1", "--servers", "2", "--replicas", "2"};
  const std::string expected = digest_of(two);
  Arguments all = command(two);
  all.insert(all.end(), {"--isolate", "--json", "out.json"});
  const CommandOutcome outcome = invoke(folder_, all);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(document("out.json")["parameters_digest"], expected);
}

TEST_F(TrainServersTest, AKilledWorkerStopsNobodyAndMayComeBack) {
  place(2, 1);
  Arguments steps = long_run;  // long enough for the worker to come back on a busy machine
  steps[1] = "2000";
  steps[3] = "100";
  const auto server = start("ps", 0);
  const auto chief = start("chief", 0, steps);
  const auto stays = start("worker", 0, steps);
  const auto dies = start("worker", 1, steps);
  wait_for_step(folder_, 100);
  dies->signal(SIGKILL);
  EXPECT_EQ(dies->wait(), 128 + SIGKILL);
  const auto back = start("worker", 1, steps);
  EXPECT_EQ(chief->wait(), 0) << folder_.read("chief0");
  EXPECT_EQ(stays->wait(), 0) << folder_.read("worker0");
  EXPECT_EQ(back->wait(), 0) << folder_.read("worker1");
  EXPECT_EQ(server->wait(), 0);
  const std::string address = cluster_["worker"][1];
  EXPECT_THAT(folder_.read("chief0"),
              HasSubstr("worker 1 (" + address + ") was lost; the run continues"));
  EXPECT_EQ(latest_step(folder_), 4000);
}

TEST_F(TrainServersTest, AKilledServerOrChiefEndsAllAndAResumedRunEndsInTheSameBits) {
  Arguments whole = long_run;
  whole[5] = "uninterrupted";
  whole.insert(whole.end(), {"-W", "1", "--servers", "2"});
  const std::string expected = digest_of(whole);
  for (const char* victim : {"ps", "chief"}) {
    place(1, 2);
    const auto ps0 = start("ps", 0);
    const auto ps1 = start("ps", 1);
    const auto chief = start("chief", 0, long_run);
    const auto worker = start("worker", 0, long_run);
    wait_for_step(folder_, latest_step(folder_) + 40);
    const bool server = std::string(victim) == "ps";
    (server ? ps1 : chief)->signal(SIGKILL);
    EXPECT_EQ(ps1->wait(), server ? 128 + SIGKILL : 5);
    EXPECT_EQ(chief->wait(), server ? 5 : 128 + SIGKILL);
    EXPECT_EQ(worker->wait(), 5) << folder_.read("worker0");
    EXPECT_EQ(ps0->wait(), 5) << folder_.read("ps0");
    const std::string address = cluster_[victim][server ? 1 : 0];
    EXPECT_THAT(folder_.read("worker0"),
                HasSubstr((server ? "ps 1 (" : "chief (") + address + ") was lost"));
    EXPECT_THAT(folder_.read("ps0"),
                HasSubstr(server ? "ps 1 (" + address + ") was lost" : "the chief was lost"));
  }
  place(1, 2);
  const auto ps0 = start("ps", 0);
  const auto ps1 = start("ps", 1);
  const auto worker = start("worker", 0, long_run);
  Arguments last = long_run;
  last.insert(last.end(), {"--json", "out.json"});
  EXPECT_EQ(start("chief", 0, last)->wait(), 0) << folder_.read("chief0");
  EXPECT_EQ(worker->wait(), 0);
  EXPECT_EQ(ps0->wait(), 0);
  EXPECT_EQ(ps1->wait(), 0);
  EXPECT_GE(document("out.json")["first_step"].get<int>(), 80);
  EXPECT_EQ(document("out.json")["parameters_digest"], expected);
}

TEST_F(TrainServersTest, OptionsThatContradictTfConfigAreUsageErrors) {
  place(1, 1);
  const auto refuses = [&](const std::string& type, const Arguments& further, const char* words) {
    const std::string log = type + "0";
    EXPECT_EQ(start(type, 0, further)->wait(), 2) << folder_.read(log);
    EXPECT_THAT(folder_.read(log), HasSubstr(words));
  };
  refuses("chief", {"--workers", "5"}, "--workers is 5, but TF_CONFIG names 1 worker;");
  refuses("worker", {"--servers", "3"}, "--servers is 3, but TF_CONFIG names 1 server;");
  refuses("chief", {"--rank", "2"}, "--rank says rank 2, TF_CONFIG says rank 0 of 3");
  refuses("ps", {"--launcher", "slurm"}, "--launcher slurm: SLURM_PROCID is not set");
  refuses("ps", {"--isolate"}, "--isolate starts the tasks itself; TF_CONFIG has already named");
  EXPECT_EQ(start("ps", 0, {"--launcher", "none"})->wait(), 0)
      << "threads, whatever TF_CONFIG says";
  EXPECT_THAT(folder_.read("ps0"), HasSubstr("accuracy on held-out samples"));
  const CommandOutcome options =
      invoke(folder_, command({"--rank", "1", "-W", "2", "--meet", "127.0.0.1:9"}));
  EXPECT_EQ(options.code, 2);
  EXPECT_THAT(options.err, HasSubstr("--rank says rank 1, but only TF_CONFIG says which"));
}

TEST_F(TrainServersTest, MissingTasksAreNamed) {
  place(1, 1);
  const std::string ps = cluster_["ps"][0];
  const std::string chief_address = cluster_["chief"][0];
  const auto chief = start("chief", 0, {"-T", "1"});
  EXPECT_EQ(chief->wait(), 5);
  EXPECT_THAT(folder_.read("chief0"), HasSubstr("after 1 s there is no ps 0 (" + ps + ")"));
  const auto server = start("ps", 0, {"-T", "1"});
  const auto worker = start("worker", 0, {"-T", "1"});
  EXPECT_EQ(server->wait(), 5);
  EXPECT_THAT(folder_.read("ps0"), HasSubstr("no chief connected to this ps within 1 s"));
  EXPECT_EQ(worker->wait(), 5);
  EXPECT_THAT(folder_.read("worker0"), HasSubstr("there is no chief (" + chief_address + ")"));
}

TEST_F(TrainServersTest, AServerThatIsStoppedEndsTheOthersByTheirTimeout) {
  Arguments endless = long_run;
  endless[1] = "100000";
  endless.insert(endless.end(), {"-T", "2"});
  for (const bool at_start : {true, false}) {
    place(1, 1);
    const auto server = start("ps", 0);
    if (at_start) server->signal(SIGSTOP);
    const auto chief = start("chief", 0, endless);
    const auto worker = start("worker", 0, endless);
    if (!at_start) {
      wait_for_step(folder_, latest_step(folder_) + 40);
      server->signal(SIGSTOP);
    }
    EXPECT_EQ(chief->wait(), 5) << folder_.read("chief0");
    EXPECT_EQ(worker->wait(), 5) << folder_.read("worker0");
    const std::string address = cluster_["ps"][0];
    EXPECT_THAT(folder_.read("chief0"), HasSubstr("ps 0 (" + address + ")"));
    server->signal(SIGKILL);
    server->wait();
  }
}

TEST_F(TrainServersTest, ADifferenceIsNamedToAll) {
  place(1, 1);
  const auto server = start("ps", 0);
  const auto chief = start("chief", 0);
  const auto worker = start("worker", 0, {"--seed", "2"});
  for (const auto& [task, log] :
       {std::pair{&server, "ps0"}, std::pair{&chief, "chief0"}, std::pair{&worker, "worker0"}}) {
    EXPECT_EQ((*task)->wait(), 5);
    EXPECT_THAT(folder_.read(log), HasSubstr("has seed 2 where the chief has 1"));
  }
}

TEST_F(TrainServersTest, SigtermOnTheChiefSavesAndAnEvaluatorFollows) {
  place(1, 1);
  Arguments endless = long_run;
  endless[1] = "100000";
  const auto server = start("ps", 0);
  const auto chief = start("chief", 0, endless);
  const auto worker = start("worker", 0, endless);
  const auto evaluator = start("evaluator", 0, endless);
  wait_for_step(folder_, 40);
  chief->signal(SIGTERM);
  EXPECT_EQ(chief->wait(), 143) << folder_.read("chief0");
  EXPECT_THAT(folder_.read("chief0"), HasSubstr("the state is saved, --resume goes on"));
  EXPECT_EQ(worker->wait(), 0) << folder_.read("worker0");
  EXPECT_EQ(server->wait(), 0) << folder_.read("ps0");
  evaluator->signal(SIGTERM);
  EXPECT_EQ(evaluator->wait(), 143);
  EXPECT_THAT(folder_.read("evaluator0"), HasSubstr("accuracy"));
}

}  // namespace
}  // namespace collbench

// `collbench train` as several processes, started one by one as in several terminals.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/background.h"
#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;

class TrainWorkersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_grpc()) GTEST_SKIP() << "this build has no gRPC";
  }

  static Arguments command(const Arguments& further) {
    Arguments all = {"train",    "--strategy", "multi-worker-mirrored",
                     "--widths", "16",         "--steps",
                     "6",        "--epochs",   "2",
                     "-T",       "30"};
    all.insert(all.end(), further.begin(), further.end());
    return all;
  }
  static Variables worker(const Arguments& hosts, int index, const char* type = "worker") {
    return {{"TF_CONFIG", nlohmann::json{{"cluster", {{"worker", hosts}}},
                                         {"task", {{"type", type}, {"index", index}}}}
                              .dump()}};
  }
  std::future<CommandOutcome> start(const Arguments& further, const Variables& variables) {
    return std::async(std::launch::async,
                      [=, this] { return invoke(folder_, command(further), variables); });
  }
  nlohmann::json document(const std::string& name) {
    return parse_json<nlohmann::json>(folder_.read(name));
  }
  /// What `mirrored` trains with two threads, which two processes must train too.
  std::string expected_digest(const Arguments& further = {}) {
    Arguments all = command(further);
    all[2] = "mirrored";
    all.insert(all.end(), {"--json", "expected.json"});
    EXPECT_EQ(invoke(folder_, all).code, 0);
    return document("expected.json")["parameters_digest"];
  }

  RunFolder folder_;
};

TEST_F(TrainWorkersTest, WorkersOfTfConfigWaitForEachOtherAndTrainWhatThreadsDo) {
  const std::string expected = expected_digest();
  for (const int first : {0, 1}) {
    const Arguments hosts = free_addresses(2);
    auto early = start({"--json", "out.json"}, worker(hosts, first));
    std::this_thread::sleep_for(400ms);
    auto late = start({"--json", "out.json"}, worker(hosts, 1 - first));
    CommandOutcome outcomes[2] = {early.get(), late.get()};
    if (first == 1) std::swap(outcomes[0], outcomes[1]);
    ASSERT_EQ(outcomes[0].code, 0) << outcomes[0].err;
    EXPECT_THAT(outcomes[0].out, HasSubstr("2 workers, global batch 64"));
    EXPECT_EQ(outcomes[1].code, 0) << outcomes[1].err;
    EXPECT_EQ(outcomes[1].out, "");
    EXPECT_THAT(outcomes[1].err, HasSubstr("trained 12 steps as worker 1 of 2 (by TF_CONFIG)"));
    EXPECT_EQ(document("out.json")["parameters_digest"], expected);
  }
}

TEST_F(TrainWorkersTest, WorkersOfOtherLaunchersMeetAtRankZero) {
  const std::string expected = expected_digest();
  const std::string address = free_addresses(1)[0];
  const std::string port = std::to_string(std::stoi(address.substr(address.rfind(':') + 1)) - 1);
  const auto variables = [&](const char* rank) {
    return Variables{
        {"RANK", rank}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}};
  };
  auto one = start({}, variables("1"));
  const CommandOutcome zero = start({"--json", "out.json"}, variables("0")).get();
  EXPECT_EQ(zero.code, 0) << zero.err;
  EXPECT_EQ(one.get().code, 0);
  EXPECT_EQ(document("out.json")["parameters_digest"], expected);
}

TEST_F(TrainWorkersTest, OneCommandStartsItsWorkersItself) {
  const std::string expected = expected_digest();
  const CommandOutcome outcome = invoke(folder_, command({"--isolate", "--json", "out.json"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("as worker 1 of 2 (by --isolate)"));
  EXPECT_EQ(document("out.json")["parameters_digest"], expected);
}

TEST_F(TrainWorkersTest, TheOnlyWorkerHasItsReplicas) {
  const std::string expected = expected_digest();
  for (const Variables& variables : {Variables{}, worker({"127.0.0.1:7300"}, 0)}) {
    const CommandOutcome outcome =
        start({"--replicas", "2", "--json", "out.json"}, variables).get();
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("nothing names other workers (TF_CONFIG, a launcher"));
    EXPECT_EQ(document("out.json")["workers"], 1);
    EXPECT_EQ(document("out.json")["replicas"], 2);
    EXPECT_THAT(outcome.out, HasSubstr("; 1 worker of 2 replicas, global batch 64"));
    EXPECT_EQ(document("out.json")["parameters_digest"], expected);
  }
}

TEST_F(TrainWorkersTest, RankZeroAloneSaysWhatHadNoEffect) {
  const CommandOutcome outcome =
      invoke(folder_, command({"--isolate", "-W", "4", "--devices", "cpu:7", "--servers", "7"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string warning = "collbench: warning: --servers, --devices had no effect here\n";
  const std::size_t at = outcome.err.find("[rank 0] " + warning);
  ASSERT_NE(at, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("no effect"), outcome.err.rfind("no effect"));
}

TEST_F(TrainWorkersTest, WorkOfOneProcessIsNotDoneByEveryRankOfALauncher) {
  const Variables one = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}};
  Variables zero = one;
  zero["RANK"] = "0";
  const Arguments simulated = {"train", "--workload", "resnet50", "--topo", "star:2,10Gbps,5us"};
  for (const Arguments& arguments : {simulated, Arguments{"train", "--list-workloads"}}) {
    EXPECT_EQ(invoke(folder_, arguments, zero).out, invoke(folder_, arguments).out);
    const CommandOutcome other = invoke(folder_, arguments, one);
    EXPECT_EQ(other.code, 0);
    EXPECT_EQ(other.out, "");
    EXPECT_THAT(other.err, HasSubstr("[rank 1] collbench: rank 0 of 2 (by torchrun) carries out "
                                     "'train', this one does not"));
  }
  for (const char* strategy : {"mirrored", "central-storage", "tpu"}) {
    const Arguments training = {"train", "--strategy", strategy, "--model", "dense2"};
    const CommandOutcome outcome = invoke(folder_, training, one);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err,
                HasSubstr("torchrun started this process as rank 1 of several; --strategy " +
                          std::string(strategy) +
                          " trains on threads of one process: --strategy multi-worker-mirrored"));
  }
  const CommandOutcome servers =
      invoke(folder_, {"train", "--strategy", "parameter-server", "--model", "dense2"}, one);
  EXPECT_EQ(servers.code, 2);
  EXPECT_THAT(servers.err, HasSubstr("torchrun says rank 1 of 2, but only TF_CONFIG says which"));
  EXPECT_THAT(invoke(folder_, {"train", "--model", "dense2"}, {{"COLLBENCH_RANK", "1"}}).err,
              HasSubstr("--rank (from COLLBENCH_RANK) has no effect with --strategy mirrored"));
  const Arguments alone = {"train", "--model", "dense2", "--epochs", "1", "--launcher", "none"};
  EXPECT_EQ(invoke(folder_, alone, one).code, 0);
}

TEST_F(TrainWorkersTest, MirroredLeavesTfConfigAloneAsTensorFlowDoes) {
  const CommandOutcome outcome =
      invoke(folder_, {"train", "--model", "dense2", "--epochs", "1"}, worker({"a:1", "b:2"}, 1));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 workers, global batch 64"));
  EXPECT_THAT(outcome.err, HasSubstr("TF_CONFIG is not used, as in TensorFlow"));
}

TEST_F(TrainWorkersTest, ADifferenceIsNamedOnEveryWorker) {
  struct Difference {
    Arguments arguments;
    std::string words;
  };
  for (const Difference& difference :
       {Difference{{"--model", "mnist-cnn"}, ""},
        Difference{{"-d", "f64"}, "rank 1 has data type f64 where rank 0 has f32"},
        Difference{{"--steps", "7"}, "rank 1 has steps per epoch 7 where rank 0 has 6"},
        Difference{{"--seed", "2"}, "rank 1 has seed 2 where rank 0 has 1"},
        Difference{{"--autoshard", "off"}, "rank 1 has autoshard off where rank 0 has auto"},
        Difference{{"--wire", "f16"}, "rank 1 has wire f16 where rank 0 has f32"},
        Difference{{"--checkpoint", "ck"}, "rank 1 has checkpoint ck where rank 0 has none"},
        Difference{{"--samples", "99"}, "rank 1 has data 99 synthetic samples"}}) {
    const Arguments hosts = free_addresses(2);
    auto zero = start({}, worker(hosts, 0));
    auto one = start(difference.arguments, worker(hosts, 1));
    // mnist-cnn takes no --widths: that worker cannot take part, for a reason of its own.
    const bool usage = difference.words.empty();
    const CommandOutcome first = zero.get();
    const CommandOutcome second = one.get();
    EXPECT_EQ(first.code, 5) << first.err;
    EXPECT_EQ(second.code, usage ? 2 : 5) << second.err;
    EXPECT_THAT(first.err, HasSubstr(usage ? "rank 1 cannot take part: mnist-cnn: only mlp takes"
                                           : difference.words));
    EXPECT_THAT(second.err, HasSubstr(usage ? "only mlp takes" : difference.words));
  }
}

TEST_F(TrainWorkersTest, ReplaysOfOtherTensorsAreNoWrongSums) {
  const RunFolder other;
  const std::string head = "layer,kind,tensors,forward_flops,activations\na,linear,";
  folder_.write("w.csv", head + "1000+9000,1,1\n");
  other.write("w.csv", head + "9000+1000,1,1\n");
  const Arguments replay = {"train", "--workload", "./w.csv", "--strategy", "multi-worker-mirrored",
                            "-T",    "30"};
  const Arguments hosts = free_addresses(2);
  auto one =
      std::async(std::launch::async, [&] { return invoke(other, replay, worker(hosts, 1)); });
  for (const CommandOutcome& outcome : {invoke(folder_, replay, worker(hosts, 0)), one.get()}) {
    EXPECT_EQ(outcome.code, 5);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 has tensors 1000 9000 where rank 0 has 9000 1000"));
  }
}

TEST_F(TrainWorkersTest, WrongClustersAreUsageErrors) {
  const auto refuses = [&](const Variables& variables, const Arguments& further, const char* text) {
    const CommandOutcome outcome = invoke(folder_, command(further), variables);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(text));
  };
  refuses({{"TF_CONFIG", "{"}}, {}, "TF_CONFIG is not JSON");
  refuses(worker({"a:1", "b:2"}, 2), {}, "The `task_id` 2 exceeds the maximum id of worker.");
  refuses(worker({"a:1", "b:2"}, 0), {"-W", "3"}, "--workers is 3, but TF_CONFIG names 2 workers");
  refuses(worker({"a:1", "b:2"}, 0), {"--isolate"}, "--isolate starts the workers itself");
  Variables both = worker({"a:1", "b:2"}, 0);
  both.insert({{"OMPI_COMM_WORLD_RANK", "1"},
               {"OMPI_COMM_WORLD_SIZE", "2"},
               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
               {"PMIX_NAMESPACE", "7"}});
  refuses(both, {}, "TF_CONFIG says rank 0 of 2, Open MPI says rank 1 of 2");
}

TEST_F(TrainWorkersTest, AMissingWorkerIsNamed) {
  const Arguments hosts = free_addresses(2);
  const CommandOutcome outcome = start({"-T", "3"}, worker(hosts, 0)).get();
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("waited 3 s for rank 1 at " + hosts[1]));
}

const Arguments long_training = {"--steps",     "400",  "--save-every", "10",
                                 "--optimizer", "adam", "--checkpoint", "ck",
                                 "--resume",    "--lr", "0.0001"};

TEST_F(TrainWorkersTest, AfterTheKillOfAnyWorkerAResumedRunEndsInTheSameBits) {
  Arguments whole = long_training;
  whole[6] = "--checkpoint";
  whole[7] = "uninterrupted";
  const std::string expected = expected_digest(whole);
  for (const int victim : {1, 0}) {
    const Arguments hosts = free_addresses(2);
    const BackgroundProcess zero(folder_, command(long_training), worker(hosts, 0), "log0");
    const BackgroundProcess one(folder_, command(long_training), worker(hosts, 1), "log1");
    wait_for_step(folder_, latest_step(folder_) + 20);  // it has joined, and has trained
    (victim == 0 ? zero : one).signal(SIGKILL);
    EXPECT_EQ((victim == 0 ? zero : one).wait(), 128 + SIGKILL);
    EXPECT_EQ((victim == 0 ? one : zero).wait(), 5);
    EXPECT_THAT(folder_.read(victim == 0 ? "log1" : "log0"),
                HasSubstr("rank " + std::to_string(victim) + " was lost"));
  }
  const Arguments hosts = free_addresses(2);
  Arguments last = long_training;
  last.insert(last.end(), {"--json", "out.json"});
  auto one = start(last, worker(hosts, 1));
  const CommandOutcome zero = start(last, worker(hosts, 0)).get();
  EXPECT_EQ(zero.code, 0) << zero.err;
  EXPECT_THAT(zero.err, HasSubstr("going on after step "));
  EXPECT_EQ(one.get().code, 0);
  EXPECT_GE(document("out.json")["first_step"].get<int>(), 40);
  EXPECT_EQ(document("out.json")["parameters_digest"], expected);
}

TEST_F(TrainWorkersTest, SigtermOnOneWorkerSavesAfterAStepOnWhichAllAgree) {
  const Arguments hosts = free_addresses(2);
  Arguments endless = long_training;
  endless[1] = "100000";
  const BackgroundProcess zero(folder_, command(endless), worker(hosts, 0), "log0");
  const BackgroundProcess one(folder_, command(endless), worker(hosts, 1), "log1");
  wait_for_step(folder_, 20);
  one.signal(SIGTERM);
  EXPECT_EQ(one.wait(), 143);
  EXPECT_EQ(zero.wait(), 5);
  EXPECT_THAT(folder_.read("log1"), HasSubstr("SIGTERM after step "));
  EXPECT_THAT(folder_.read("log0"), HasSubstr("rank 1 was asked to stop after step "));
  EXPECT_THAT(folder_.read("log0"), HasSubstr("accuracy on held-out samples"));
}

/// The first child that a process starts.
pid_t child_of(pid_t process) {
  const std::string file = "/proc/" + std::to_string(process) + "/task/" + std::to_string(process);
  for (int i = 0; i < 20'000; ++i, std::this_thread::sleep_for(1ms)) {
    pid_t child = -1;
    if (std::ifstream(file + "/children") >> child) return child;
  }
  return -1;
}

bool still_runs(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string number, name, state;
  return static_cast<bool>(file >> number >> name >> state) && state != "Z";
}

TEST_F(TrainWorkersTest, AWorkerOfOursThatEndsBeforeItJoinsIsNamed) {
  const auto begin = std::chrono::steady_clock::now();
  const BackgroundProcess launcher(folder_, command({"--isolate", "-T", "60"}), {}, "log");
  const pid_t child = child_of(launcher.pid());
  ASSERT_GT(child, 0);
  kill(child, SIGKILL);
  EXPECT_EQ(launcher.wait(), 5);
  EXPECT_THAT(folder_.read("log"), HasSubstr("rank 1 was killed by signal 9"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 40s);
}

TEST_F(TrainWorkersTest, WorkersOfOursEndWithThisProcess) {
  const BackgroundProcess launcher(folder_, command({"--isolate", "-T", "60"}), {}, "log");
  const pid_t child = child_of(launcher.pid());
  ASSERT_GT(child, 0);
  launcher.signal(SIGKILL);
  EXPECT_EQ(launcher.wait(), 128 + SIGKILL);
  for (int i = 0; i < 200 && still_runs(child); ++i) std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(still_runs(child));
}

TEST_F(TrainWorkersTest, AnEvaluatorFollowsTheCheckpointsToTheLast) {
  const Arguments hosts = free_addresses(2);
  const Arguments further = {"--checkpoint", "ck", "--save-every", "2"};
  auto evaluator = start(further, worker(hosts, 0, "evaluator"));
  auto one = start(further, worker(hosts, 1));
  EXPECT_EQ(start(further, worker(hosts, 0)).get().code, 0);
  EXPECT_EQ(one.get().code, 0);
  const CommandOutcome outcome = evaluator.get();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\n      12"));
}

TEST_F(TrainWorkersTest, AnEvaluatorOfAResumedRunGoesOnBeyondTheEndOfTheFormerOne) {
  const Arguments saves = {"--checkpoint", "ck"};
  ASSERT_EQ(start(saves, {}).get().code, 0);
  const Arguments hosts = free_addresses(2);
  const Arguments further = {"--checkpoint", "ck", "--resume", "--epochs", "4"};
  auto evaluator = start(further, worker(hosts, 0, "evaluator"));
  EXPECT_EQ(evaluator.wait_for(2s), std::future_status::timeout);
  auto one = start(further, worker(hosts, 1));
  EXPECT_EQ(start(further, worker(hosts, 0)).get().code, 0);
  EXPECT_EQ(one.get().code, 0);
  const CommandOutcome outcome = evaluator.get();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\n      24"));
}

// Where each worker has a pass of its own, an epoch has the steps of all.
TEST_F(TrainWorkersTest, AnEvaluatorCountsTheStepsOfItsCluster) {
  const auto run = [&](Arguments more, const Variables& variables) {
    more.insert(more.begin(),
                {"train", "--strategy", "multi-worker-mirrored", "--widths", "8", "--samples", "64",
                 "--batch", "32", "--epochs", "1", "--autoshard", "off", "--checkpoint", "ck"});
    return invoke(folder_, more, variables);
  };
  ASSERT_EQ(run({}, {}).code, 0);
  const auto evaluator = [&](const Arguments& hosts) {
    return run({"--resume", "-T", "1"}, worker(hosts, 0, "evaluator"));
  };
  const CommandOutcome one = evaluator({"127.0.0.1:7300"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("\n       2 ")) << "the last step of one worker";
  const CommandOutcome two = evaluator({"127.0.0.1:7300", "127.0.0.1:7301"});
  EXPECT_EQ(two.code, 5) << two.err;
  EXPECT_THAT(two.err, HasSubstr("saw no new checkpoint"));
}

TEST_F(TrainWorkersTest, DamagedCheckpointsAreRefusedOnEveryWorker) {
  folder_.write("ck/step-000000003.safetensors", "no tensors");
  const Arguments hosts = free_addresses(2);
  const Arguments further = {"--checkpoint", "ck", "--resume"};
  auto one = start(further, worker(hosts, 1));
  const CommandOutcome zero = start(further, worker(hosts, 0)).get();
  EXPECT_EQ(zero.code, 2);
  EXPECT_THAT(zero.err, HasSubstr("step-000000003.safetensors is not a safetensors file"));
  const CommandOutcome other = one.get();
  EXPECT_EQ(other.code, 5);
  EXPECT_THAT(other.err, HasSubstr("rank 0 cannot take part: ck/step-000000003.safetensors"));
}

TEST_F(TrainWorkersTest, EventFilesAreReadByAnIndependentReader) {
  Arguments arguments = command({"--tensorboard", "logs"});
  arguments[2] = "mirrored";
  arguments.insert(arguments.end(), {"--json", "out.json"});
  ASSERT_EQ(invoke(folder_, arguments).code, 0);
  std::string file;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/logs")) {
    file = entry.path().string();
  }
  const CommandOutcome read = invoke_program(folder_, "python3", {EVENT_READER, file});
  ASSERT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr("1 train/loss 2."));
  EXPECT_THAT(read.out, HasSubstr("\n12 train/accuracy 0."));
  EXPECT_THAT(read.out, HasSubstr("\n12 test/accuracy 0."));
}

}  // namespace
}  // namespace collbench

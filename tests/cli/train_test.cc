// `collbench train`: what it prints and writes, and how it refuses.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class TrainTest : public testing::Test {
 protected:
  CommandOutcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "train");
    return invoke(folder_, arguments);
  }
  RunFolder folder_;
};

TEST_F(TrainTest, TrainsAndReportsEachEpochAndRank) {
  const CommandOutcome outcome = run({"--model", "dense2", "--workers", "4", "--batch", "32",
                                      "--epochs", "3", "--json", "out.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("# dense2, 22 parameters; 1024 synthetic samples"));
  const auto document = parse_json<nlohmann::json>(folder_.read("out.json"));
  ASSERT_EQ(document["epochs"].size(), 3U);
  EXPECT_EQ(document["epochs"][0]["steps"], 32);
  EXPECT_LT(document["epochs"][2]["loss"], document["epochs"][0]["loss"]);
  ASSERT_EQ(document["ranks"].size(), 4U);
  EXPECT_EQ(document["ranks"][3]["steps"]["exposed_communication_ms"].size(), 96U);
  EXPECT_EQ(document["bucket_bytes"], nlohmann::json({88}));
}

TEST_F(TrainTest, TheNumberOfWorkersChangesNoResult) {
  const auto losses = [&](const char* workers) {
    const CommandOutcome outcome = run({"--widths", "8,8", "--workers", workers, "--datatype",
                                        "f64", "--steps", "5", "--json", "-"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json<nlohmann::json>(outcome.out)["epochs"][2]["loss"].get<double>();
  };
  EXPECT_NEAR(losses("1"), losses("4"), 1e-12);
}

TEST_F(TrainTest, OnednnIsLoadedByWhatComputesWithIt) {
  const CommandOutcome linked = invoke(folder_, {}, {{"LD_TRACE_LOADED_OBJECTS", "1"}});
  EXPECT_THAT(linked.out, AllOf(HasSubstr("libstdc++.so.6 => "), Not(HasSubstr("dnnl"))));
  if (run({"--model", "dense2", "--engine", "onednn", "--steps", "1"}).code != 0) {
    GTEST_SKIP() << "no oneDNN";
  }
  const std::size_t path = linked.out.find("=> ", linked.out.find("libstdc++.so.6")) + 3;
  std::filesystem::create_symlink(linked.out.substr(path, linked.out.find(' ', path) - path),
                                  folder_.path() + "/libdnnl.so.2");
  const auto with_other = [&](const char* engine) {
    return invoke(folder_, {"train", "--model", "dense2", "--engine", engine, "--steps", "1"},
                  {{"LD_LIBRARY_PATH", folder_.path()}});
  };
  EXPECT_EQ(with_other("plain").code, 0);
  EXPECT_EQ(with_other("onednn").code, 4);
  EXPECT_THAT(with_other("onednn").err, HasSubstr("has no dnnl_engine_create"));
}

// Five files of four images each, in the proportions of CIFAR-10.
void write_small_cifar(RunFolder& folder) {
  for (int file = 0; file < 6; ++file) {
    std::string text;
    for (int image = 0; image < 4; ++image) {
      text += static_cast<char>((file + image) % 10);
      text += std::string(3072, static_cast<char>(40 * image + file));
    }
    const std::string name =
        file < 5 ? "data_batch_" + std::to_string(file + 1) : std::string("test_batch");
    folder.write("cifar/" + name + ".bin", text);
  }
}

TEST_F(TrainTest, ReplicasOfOneProcessReadAllFiles) {
  write_small_cifar(folder_);
  for (const char* replicas : {"1", "3"}) {
    const CommandOutcome outcome = run({"--model", "resnet20", "--data", "cifar", "--workers",
                                        replicas, "--batch", "6", "--epochs", "1", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(parse_json<nlohmann::json>(outcome.out)["epochs"][0]["steps"], 3) << replicas;
  }
}

TEST_F(TrainTest, ACheckpointIsOfItsDivisionOfTheData) {
  write_small_cifar(folder_);
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--model", "resnet20", "--data", "cifar", "--batch", "6", "--steps",
                               "1", "--checkpoint", "ck"});
    return run(more);
  };
  ASSERT_EQ(train({"--backend", "grpc", "--workers", "2", "--epochs", "1"}).code, 0);
  const CommandOutcome other =
      train({"--backend", "grpc", "--workers", "3", "--epochs", "2", "--resume"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("was saved with division of the data 'file among 2 workers'; "
                                   "this run has 'file among 3 workers'"));
  EXPECT_EQ(train({"--backend", "grpc", "--workers", "2", "--epochs", "2", "--resume"}).code, 0);
}

// Of 20 samples in 5 files, 2 workers and 3 have 2 whole steps of 6.
TEST_F(TrainTest, BetweenPassesOverTheFilesTheNumberOfWorkersMayChange) {
  write_small_cifar(folder_);
  const auto train = [&](const std::string& workers, const std::string& epochs) {
    return run({"--model", "resnet20", "--data", "cifar", "--batch", "6", "--checkpoint", "ck",
                "--backend", "grpc", "--workers", workers, "--epochs", epochs, "--resume"});
  };
  ASSERT_EQ(train("2", "1").code, 0);
  const CommandOutcome more = train("3", "2");
  EXPECT_EQ(more.code, 0) << more.err;
  EXPECT_THAT(more.err, HasSubstr("going on after step 4"));
}

TEST_F(TrainTest, DivergedTrainingIsCalledSo) {
  const CommandOutcome outcome = run({"--widths", "8", "--lr", "1e30", "--epochs", "2", "--workers",
                                      "1", "--strategy", "parameter-server"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("# the loss is no number any more: training has diverged"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("-nan")));
}

TEST_F(TrainTest, ATraceOfAProcessHasThePartsOfItsSteps) {
  const CommandOutcome outcome = run({"--model", "dense2", "--workers", "2", "--backend", "grpc",
                                      "--steps", "3", "--epochs", "1", "--trace", "steps.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto trace = parse_json<nlohmann::json>(folder_.read("steps.json"));
  EXPECT_EQ(trace["otherData"], (nlohmann::json{{"rank", 0}, {"ranks", 2}, {"steps", 3}}));
  std::map<std::string, int> slices;
  double end = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++slices[event["name"].get<std::string>()];
    EXPECT_GE(event["ts"].get<double>(), 0);
    end = std::max(end, event["ts"].get<double>());
  }
  for (const char* part : {"forward", "backward", "optimizer"}) EXPECT_EQ(slices[part], 3) << part;
  EXPECT_EQ(slices["88 B"], 3);  // the gradients, once a step
  EXPECT_GT(end, 0);
}

TEST_F(TrainTest, StrategiesDifferInWhereTheySumAndNotInWhatTheyLearn) {
  const auto trained = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--widths", "8,8", "--workers", "4", "--datatype", "f64", "--steps",
                               "5", "--epochs", "2", "--json", "-"});
    const CommandOutcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json<nlohmann::json>(outcome.out);
  };
  const auto loss = [](const nlohmann::json& run) {
    return run["epochs"][1]["loss"].get<double>();
  };
  const nlohmann::json mirrored = trained({});
  const nlohmann::json tpu = trained({"--strategy", "tpu"});
  const nlohmann::json central = trained({"--strategy", "central-storage"});
  EXPECT_EQ(tpu["algorithm"], "torus");
  EXPECT_EQ(central["algorithm"], "reduce to one device, broadcast");
  EXPECT_NEAR(loss(tpu), loss(mirrored), 1e-12);
  EXPECT_NEAR(loss(central), loss(mirrored), 1e-12);
}

TEST_F(TrainTest, TheRecordSaysHowGradientsTravelled) {
  const auto recorded = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--model", "dense2", "--workers", "2", "--steps", "2", "--epochs",
                               "1", "--json", "-"});
    const CommandOutcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto document = parse_json<nlohmann::json>(outcome.out);
    nlohmann::json fields;
    for (const char* key : {"backend", "transport", "wire", "loss_scaling", "algorithm"}) {
      fields.push_back(document.value(key, "missing"));
    }
    return fields;
  };
  EXPECT_EQ(recorded({}), nlohmann::json({"shm", "", "f32", "exact", "ring"}));
  EXPECT_EQ(recorded({"--wire", "f16", "--loss-scaling", "tf"}),
            nlohmann::json({"shm", "", "f16", "tf", "ring"}));
  EXPECT_EQ(recorded({"--backend", "grpc", "--transport", "tcp"}),
            nlohmann::json({"grpc", "tcp", "f32", "exact", "ring"}));
}

TEST_F(TrainTest, ALibraryPlaysItsOwnAllReduceWhereNoneIsGiven) {
  for (const char* strategy : {"mirrored", "tpu"}) {
    const CommandOutcome outcome = run({"--strategy", strategy, "--model", "dense2", "--backend",
                                        "gloo", "--steps", "2", "--epochs", "1", "--json", "-"});
    if (outcome.code == 4) GTEST_SKIP() << outcome.err;
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(parse_json<nlohmann::json>(outcome.out)["algorithm"], "gloo");
  }
  EXPECT_THAT(run({"--backend", "gloo", "--algo", "ring"}).err,
              HasSubstr("gloo plays no schedules of ours such as ring"));
}

TEST_F(TrainTest, AFinishedRunThatIsResumedWritesItsRecordAgain) {
  for (const char* strategy : {"mirrored", "parameter-server"}) {
    const std::vector<std::string> training = {
        "--strategy", strategy, "--model",      "dense2", "--workers", "1",      "--steps", "4",
        "--epochs",   "1",      "--checkpoint", strategy, "--resume",  "--json", "out.json"};
    ASSERT_EQ(run(training).code, 0);
    const auto first = parse_json<nlohmann::json>(folder_.read("out.json"));
    folder_.write("out.json", "");
    const CommandOutcome again = run(training);
    ASSERT_EQ(again.code, 0);
    EXPECT_THAT(again.err, Not(HasSubstr("no effect")));
    EXPECT_THAT(again.out, HasSubstr("nothing is left to train"));
    const auto second = parse_json<nlohmann::json>(folder_.read("out.json"));
    EXPECT_EQ(second["parameters_digest"], first["parameters_digest"]);
    EXPECT_EQ(second["held_out_accuracy"], first["held_out_accuracy"]);
    EXPECT_EQ(second["first_step"], 4);
    EXPECT_EQ(second["ranks"], nlohmann::json::array());
  }
}

TEST_F(TrainTest, ARunIsResumedWithTheSettingsThatDecideItsNextSteps) {
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--model", "dense2", "--steps", "4", "--epochs", "2", "--checkpoint",
                               "saved", "--resume"});
    return run(more);
  };
  ASSERT_EQ(train({}).code, 0);
  EXPECT_EQ(train({"--workers", "4", "--algo", "direct"}).code, 0) << "sums may be rounded anew";
  const CommandOutcome samples = train({"--samples", "2048"});
  EXPECT_EQ(samples.code, 2);
  EXPECT_THAT(samples.err, HasSubstr("was saved with digest of the data '"));
  const CommandOutcome wire = train({"--wire", "f16"});
  EXPECT_EQ(wire.code, 2);
  EXPECT_THAT(wire.err, HasSubstr("was saved with wire 'f32'; this run has 'f16'"));
}

TEST_F(TrainTest, AsynchronousWorkersTrainAsFastAsAllTogether) {
  const CommandOutcome outcome =
      run({"--strategy", "parameter-server", "--model", "mlp", "--workers", "3", "--steps", "60",
           "--epochs", "1", "--json", "out.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = parse_json<nlohmann::json>(folder_.read("out.json"));
  double rate = 0;
  for (const auto& worker : document["ranks"]) {
    if (worker["steps"]["step_ms"].size() < 2) continue;
    rate += 64e3 / worker["median"]["step_ms"].get<double>();
    EXPECT_EQ(worker["median"]["waiting_ms"], 0) << "for no other";
  }
  const std::string before = "# after the first step: ";
  const std::size_t at = outcome.out.find(before);
  ASSERT_NE(at, std::string::npos) << outcome.out;
  EXPECT_NEAR(std::stod(outcome.out.substr(at + before.size())), rate, 0.06);
}

TEST_F(TrainTest, WorkersWithoutAStepKeepTheirRow) {
  const CommandOutcome outcome =
      run({"--strategy", "parameter-server", "--widths", "8", "--workers", "5", "--steps", "2",
           "--epochs", "1", "--json", "out.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("; 5 workers, global batch 64"), testing::ContainsRegex("\n +4 ")));
  const auto document = parse_json<nlohmann::json>(folder_.read("out.json"));
  EXPECT_EQ(document["workers"], 5);
  ASSERT_EQ(document["ranks"].size(), 5U);
  std::size_t steps = 0;
  for (const auto& worker : document["ranks"]) {
    if (worker.contains("steps")) steps += worker["steps"]["step_ms"].size();
  }
  EXPECT_EQ(steps, 2U);
}

// The second worker has no samples left in most of the steps.
TEST_F(TrainTest, TheRateCountsTheSamplesThatStepsTake) {
  write_small_cifar(folder_);
  const std::string image(3073, '\3');
  std::string images;
  for (int i = 0; i < 24; ++i) images += image;
  folder_.write("cifar/data_batch_1.bin", images);
  const CommandOutcome outcome =
      run({"--model", "resnet20", "--data", "cifar", "--backend", "grpc", "--workers", "2",
           "--batch", "8", "--epochs", "1", "--json", "out.json"});
  if (outcome.code == 4) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = parse_json<nlohmann::json>(folder_.read("out.json"));
  const double step = document["ranks"][0]["median"]["step_ms"];
  const std::string before = "# after the first step: ";
  const std::size_t at = outcome.out.find(before);
  ASSERT_NE(at, std::string::npos) << outcome.out;
  EXPECT_LT(std::stod(outcome.out.substr(at + before.size())), 7e3 / step) << "8 are a whole step";
}

TEST_F(TrainTest, RefusesWhatItCannotDo) {
  const auto refuses = [&](const std::vector<std::string>& arguments, int code, const char* text) {
    const CommandOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, AllOf(HasSubstr(text), Not(HasSubstr("shows what can be used"))));
  };
  refuses({"--batch", "10", "--workers", "4"}, 2,
          "The `global_batch_size` 10 is not divisible by `num_replicas_in_sync` 4");
  for (const char* name : {"trace", "buckets", "transport"}) {
    refuses({"--strategy", "parameter-server", "--" + std::string(name), "tcp"}, 2,
            "is not for parameter-server");
  }
  refuses({"--model", "mnist-cn"}, 2, "Did you mean 'mnist-cnn'?");
  refuses({"--strategy", "mirored"}, 2, "unknown strategy 'mirored'. Did you mean 'mirrored'?");
  refuses({"--data", "nowhere"}, 4, "there is no folder 'nowhere'");
  for (const char* network : {"", "ring:2"}) {
    std::vector<std::string> words = {"--json", "nowhere/out.json"};
    if (*network != '\0') words.insert(words.end(), {"--topo", network});
    refuses(words, 4, "cannot write 'nowhere/out.json': No such file or directory");
  }
  refuses({"--lr", "0"}, 2, "above 0, not 0");
  refuses({"--strategy", "central-storage", "--algo", "ring"}, 2, "sums on one device");
  refuses({"--trace", "steps.json", "--workers", "2"}, 2,
          "follows one process: add --backend grpc, or simulate a step with --workload and --topo");
  refuses({"--strategy", "multi-worker-mirrored", "-W", "4"}, 2,
          "--workers is 4, but nothing names the others");
  for (const char* strategy : {"multi-worker-mirrored", "parameter-server"}) {
    refuses({"--strategy", strategy, "--isolate", "--backend", "nosuch"}, 2,
            "unknown back end 'nosuch'");
    refuses({"--strategy", strategy, "--isolate", "--backend", "shm"}, 2,
            "in several processes have grpc between them, not shm; leave it out");
  }
  refuses({"--rank", "1"}, 2, "--rank has no effect with --strategy mirrored; multi-worker");
  refuses({"--strategy", "parameter-server", "--backend", "grpc"}, 2,
          "threads of parameter-server have shm between them, not grpc");
  refuses({"--wrokers", "2"}, 2, "--workers");
  refuses({"-T", "-1"}, 2, "--timeout must be above 0");
  refuses({"--devices", "cpu:99999"}, 2, "--devices must be at most");
}

TEST_F(TrainTest, ReplicasStayOnTheCoresThatTheProcessHas) {
  if (is_missing("taskset") || std::thread::hardware_concurrency() < 2) GTEST_SKIP();
  const CommandOutcome outcome = invoke_program(
      folder_, "taskset", {"-c", "0", COLLBENCH_BINARY, "train", "--devices", "cpu:0,cpu:1"});
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("--devices: this process may not run on cpu:1"));
}

TEST_F(TrainTest, AFileThatMayNotGrowIsNamed) {
  const CommandOutcome outcome =
      invoke_program(folder_, "sh",
                     {"-c", "ulimit -f 100; exec \"$0\" train --steps 2 --epochs 1 --checkpoint ck",
                      COLLBENCH_BINARY});
  EXPECT_EQ(outcome.code, 5) << outcome.out;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("could not write 'ck/step-"), HasSubstr("too large")));
}

TEST_F(TrainTest, ThreadsThatTheSystemRefusesEndTheRunWithTheirNumber) {
  // Limits of processes count all of a user's, and nobody has none.
  if (is_missing("setpriv") || is_missing("bash") || geteuid() != 0) GTEST_SKIP();
  for (const auto& [strategy, threads, words] :
       {std::tuple{"mirrored", "--workers", " of 64 threads could be started"},
        std::tuple{"parameter-server", "--workers", " of 64 threads could be started"},
        std::tuple{"parameter-server", "--replicas", " of 63 threads could be started"}}) {
    const CommandOutcome outcome = invoke_program(
        folder_, "setpriv",
        {"--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c",
         "ulimit -u 30; exec \"$0\" train --steps 2 --epochs 1 --model dense2 \"$@\"",
         COLLBENCH_BINARY, "--strategy", strategy, threads, "64"});
    if (outcome.code == 126 || outcome.code == 127) GTEST_SKIP() << outcome.err;  // not for nobody
    EXPECT_EQ(outcome.code, 5) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(words));
  }
}

TEST_F(TrainTest, ADamagedCheckpointIsRefusedAndTheWholeOneBeforeItIsNamed) {
  const std::vector<std::string> training = {"--model",      "dense2", "--steps",      "4",
                                             "--epochs",     "1",      "--checkpoint", "saved",
                                             "--save-every", "2",      "--timeout",    "5m"};
  ASSERT_EQ(run(training).code, 0);
  const std::string last = "saved/step-000000004.safetensors";
  std::string bytes = folder_.read(last);
  bytes[bytes.size() / 2] ^= 1;
  folder_.write(last, bytes);
  std::vector<std::string> resumed = training;
  resumed.emplace_back("--resume");
  const CommandOutcome outcome = run(resumed);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(last + " is damaged"),
                                 HasSubstr("Remove it to go on from saved/step-000000002")));
}

}  // namespace
}  // namespace collbench

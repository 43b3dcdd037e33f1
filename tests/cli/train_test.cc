// `collbench train`: what it prints and writes, and how it refuses.
#include <algorithm>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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

TEST_F(TrainTest, RefusesWhatItCannotDo) {
  const auto refuses = [&](const std::vector<std::string>& arguments, int code, const char* text) {
    const CommandOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(text));
  };
  refuses({"--batch", "10", "--workers", "4"}, 2,
          "The `global_batch_size` 10 is not divisible by `num_replicas_in_sync` 4");
  refuses({"--model", "mnist-cn"}, 2, "Did you mean 'mnist-cnn'?");
  refuses({"--strategy", "mirored"}, 2, "unknown strategy 'mirored'. Did you mean 'mirrored'?");
  refuses({"--data", "nowhere"}, 4, "there is no folder 'nowhere'");
  refuses({"--lr", "0"}, 2, "above 0, not 0");
  refuses({"--strategy", "central-storage", "--algo", "ring"}, 2, "sums on one device");
  refuses({"--trace", "steps.json", "--workers", "2"}, 2, "follows one process");
  refuses({"--wrokers", "2"}, 2, "--workers");
  refuses({"-T", "-1"}, 2, "--timeout must be above 0");
  refuses({"--devices", "cpu:99999"}, 2, "--devices must be at most");
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

// `collbench train --workload` on real workers, whose computing is waited for, and `--profile`,
// which writes such a workload.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class TrainReplayTest : public testing::Test {
 protected:
  TrainReplayTest() {
    folder_.write("layers.csv",
                  "# parameters: 4000\n# batch: 32\n"
                  "layer,kind,tensors,forward_flops,activations,forward_us,weight_us,input_us\n"
                  "one,linear,1000,1000,10,2000,2000,2000\n"
                  "two,linear,3000,1000,10,1000,1000,1000\n");
  }

  CommandOutcome train(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "train");
    return invoke(folder_, arguments);
  }

  /// What a replay with those arguments writes as JSON.
  nlohmann::json replayed(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--workload", "./layers.csv", "--json", "out.json"});
    const CommandOutcome outcome = train(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json<nlohmann::json>(folder_.read("out.json"));
  }

  RunFolder folder_;
};

TEST_F(TrainReplayTest, EveryWorkerWaitsForItsLayersAndSumsForReal) {
  const nlohmann::json report = replayed({"--workers", "2", "--steps", "4"});
  EXPECT_NEAR(report["alone_ms"], 9, 1e-9);
  ASSERT_EQ(report["ranks"].size(), 2U);
  for (const nlohmann::json& rank : report["ranks"]) {
    EXPECT_GE(rank["forward_ms"], 3);
    EXPECT_GE(rank["step_ms"], 9);
  }
}

TEST_F(TrainReplayTest, ProcessesDoSoToo) {
  const nlohmann::json report = replayed({"--workers", "2", "--steps", "3", "--isolate"});
  ASSERT_EQ(report["ranks"].size(), 2U);
  EXPECT_GE(report["ranks"][1]["step_ms"], 9);
}

TEST_F(TrainReplayTest, AProfileOfAModelIsAWorkload) {
  const CommandOutcome profiled =
      train({"--model", "dense2", "--batch", "32", "--steps", "3", "--profile", "layers.csv"});
  ASSERT_EQ(profiled.code, 0) << profiled.err;
  EXPECT_THAT(folder_.read("layers.csv"), HasSubstr("# parameters: 22\n"));
  const CommandOutcome played =
      train({"--workload", "./layers.csv", "--workers", "2", "--steps", "2"});
  EXPECT_EQ(played.code, 0) << played.err;
  EXPECT_THAT(played.out, StartsWith("# ./layers.csv: 22 parameters"));
  EXPECT_THAT(train({"--workload", "./layers.csv", "--profile", "again.csv"}).err,
              HasSubstr("give --model, not --workload"));
}

TEST_F(TrainReplayTest, WhatOnlyASimulationKnowsIsRefused) {
  const auto refused = [&](const std::vector<std::string>& arguments, int code, const char* text) {
    const CommandOutcome outcome = train(arguments);
    EXPECT_EQ(outcome.code, code);
    EXPECT_THAT(outcome.err, HasSubstr(text));
  };
  refused({"--workload", "./layers.csv", "--buckets", "auto"}, 2,
          "auto needs the costs of a network");
  refused({"--workload", "./layers.csv", "--workers", "2", "--trace", "steps.json"}, 2,
          "--trace of a workload is of a simulated step: give --topo");
  refused({"--workload", "./layers.csv", "--workers", "2", "--accumulate", "4"}, 2,
          "--accumulate of a workload is of a simulated step: give --topo");
  refused({"--workload", "./layers.csv", "--workers", "2", "--wire", "u8"}, 2,
          "--wire: f16 or bf16, not u8");
  refused({"--workload", "./layers.csv", "--workers", "2", "--backend", "nosuch"}, 2,
          "unknown back end 'nosuch'");
  refused({"--workload", "./missing.csv", "--workers", "2"}, 4, "./missing.csv");
  folder_.write("layers.csv", "layer,parameters\none,many\n");
  refused({"--workload", "./layers.csv", "--workers", "2"}, 2, "layers.csv");
}

}  // namespace
}  // namespace collbench

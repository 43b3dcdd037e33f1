// `collbench train` with workloads and simulated networks: what it prints and writes, and how it
// refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::HasSubstr;

class TrainSimulatedTest : public testing::Test {
 protected:
  CommandOutcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "train");
    return invoke(folder_, arguments);
  }
  RunFolder folder_;
};

TEST_F(TrainSimulatedTest, PlaysAStepOfAWorkloadAndWritesItsTrace) {
  const CommandOutcome outcome =
      run({"--workload", "resnet50", "--topo", "cluster:2xdgx-a100", "--algo", "ring", "--json",
           "out.json", "--trace", "trace.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("# resnet50: 25557032 parameters, 161 tensors; 16 workers"));
  const auto document = parse_json<nlohmann::json>(folder_.read("out.json"));
  EXPECT_EQ(document["workers"], 16);
  EXPECT_NEAR(document["step_ms"].get<double>(),
              document["forward_ms"].get<double>() + document["backward_ms"].get<double>() +
                  document["exposed_communication_ms"].get<double>() +
                  document["optimizer_ms"].get<double>(),
              1e-9);
  const auto trace = parse_json<nlohmann::json>(folder_.read("trace.json"));
  EXPECT_EQ(trace["otherData"]["workers"], 16);
}

TEST_F(TrainSimulatedTest, AStepIsScaledShardedAndSlowedAsAsked) {
  const auto step = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--workload", "resnet50", "--topo", "star:4,100Gbps,5us",
                               "--workers", "4", "--json", "-"});
    const CommandOutcome outcome = run(more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json<nlohmann::json>(outcome.out);
  };
  const auto time = [](const nlohmann::json& report, const char* part) {
    return report[part].get<double>();
  };
  // --step-time is that of one worker alone.
  const nlohmann::json scaled = step({"--step-time", "100ms"});
  EXPECT_NEAR(
      time(scaled, "forward_ms") + time(scaled, "backward_ms") + time(scaled, "optimizer_ms"), 100,
      0.1);
  // It updates once, however many micro-batches there are, and is as fast as itself.
  const nlohmann::json alone = step({"--workers", "1", "--accumulate", "4"});
  EXPECT_NEAR(time(alone, "alone_ms"), time(alone, "step_ms"), 1e-9);
  EXPECT_NEAR(time(alone, "scaling_efficiency"), 1, 1e-9);
  // A worker of half the speed computes for twice as long, and the others wait for it.
  const nlohmann::json slowed = step({"--step-time", "100ms", "--slow-workers", "1:0.5"});
  EXPECT_NEAR(time(slowed, "step_ms"), time(scaled, "step_ms") + 100, 5);
  // Parameters are gathered before each pass that uses them, those of the last bucket first.
  const nlohmann::json sharded = step({"--sharding", "full"});
  EXPECT_EQ(scaled.count("gathers"), 0U);
  std::int64_t bytes = 0;
  for (const auto& gather : sharded["gathers"]) {
    EXPECT_LE(time(gather, "ready_ms"), time(gather, "start_ms"));
    EXPECT_LT(time(gather, "start_ms"), time(gather, "end_ms"));
    bytes += gather["bytes"].get<std::int64_t>();
  }
  const std::int64_t parameters = 4 * sharded["parameters"].get<std::int64_t>();
  EXPECT_GE(bytes, parameters);
  EXPECT_LE(bytes, 2 * parameters);  // what is kept for the backward pass is gathered once
  for (const char* wrong : {"--compute-share", "--memory-share"}) {
    const CommandOutcome refused =
        run({"--workload", "resnet50", "--topo", "star:4,100Gbps,5us", wrong, "1.5"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("1.5 is not a share above 0 and at most 1"));
  }
}

TEST_F(TrainSimulatedTest, WorkersKeepWholeGradientsBetweenMicroBatches) {
  const auto memory = [&](const char* micro_batches) {
    const CommandOutcome outcome =
        run({"--workload", "resnet50", "--topo", "star:8,100Gbps,5us", "--algo", "ring",
             "--sharding", "full", "--accumulate", micro_batches, "--json", "-"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json<nlohmann::json>(outcome.out)["memory"];
  };
  constexpr std::int64_t parameters = 25557032;
  EXPECT_NEAR(memory("1")["gradients_bytes"].get<double>(), 4.0 * parameters / 8, 4096);
  EXPECT_EQ(memory("4")["gradients_bytes"], 4 * parameters);
}

TEST_F(TrainSimulatedTest, TheTablesOfLayersAndTheDevicesAreListed) {
  const CommandOutcome list = run({"--list-workloads"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out,
              testing::ContainsRegex("\nresnet50 +25557032 +161 +8.223  224x224x3 image\n"));
  EXPECT_THAT(list.out, testing::ContainsRegex("\nv100 +15.7 +125.0 +900  "));
}

TEST_F(TrainSimulatedTest, PlannedBucketsAreNotSlowerThanFixedRules) {
  const auto step = [&](const char* rule) {
    const CommandOutcome outcome = run({"--workload", "resnet50", "--topo", "ethernet-25g:32",
                                        "--algo", "ring", "--buckets", rule, "--json", "-"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json<nlohmann::json>(outcome.out)["step_ms"].get<double>();
  };
  const double planned = step("auto");
  for (const char* rule : {"ddp", "ddp-initial", "tf", "tensor"}) EXPECT_LE(planned, step(rule));
}

TEST_F(TrainSimulatedTest, TrainsOnASimulatedNetworkRepeatably) {
  const auto train = [&] {
    return run({"--model",        "mlp",
                "--widths",       "8",
                "--topo",         "star:5,10Gbps,20us",
                "--workers",      "4",
                "--strategy",     "parameter-server",
                "--samples",      "64",
                "--batch",        "16",
                "--epochs",       "1",
                "--compute-time", "5ms",
                "--curve",        "curve.csv"});
  };
  const CommandOutcome outcome = train();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string curve = folder_.read("curve.csv");
  EXPECT_THAT(curve, HasSubstr("time_s,updates,samples,loss"));
  EXPECT_THAT(curve, HasSubstr(",4,64,")) << "4 updates, each of a whole batch";
  EXPECT_EQ(train().out, outcome.out);
}

TEST_F(TrainSimulatedTest, BucketsBesideTheBackwardPassShortenRealTrainingAndChangeNoLoss) {
  const auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> words{
        "--model",   "mlp", "--widths",       "64,64", "--topo",  "star:5,1Gbps,20us",
        "--workers", "4",   "--samples",      "64",    "--batch", "16",
        "--epochs",  "1",   "--compute-time", "2ms",   "--algo",  "ring",
        "--json",    "-"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandOutcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json<nlohmann::json>(outcome.out)["points"].back();
  };
  const auto one = train({"--buckets", "tf"});
  for (const char* rule : {"ddp", "tf:16K", "tensor", "auto"}) {
    const auto point = train({"--buckets", rule});
    EXPECT_EQ(point["loss"], one["loss"]) << rule;
    EXPECT_EQ(point["time_s"] < one["time_s"], std::string(rule) != "ddp") << "that is one, too";
  }
  const auto apart = train({"--no-overlap", "--buckets", "auto"});
  EXPECT_EQ(apart["loss"], one["loss"]);
  EXPECT_GE(apart["time_s"], one["time_s"]) << "the first layer has no gradient to go on with";
  EXPECT_GT(train({"--per-bucket", "1ms"})["time_s"], one["time_s"]);
}

TEST_F(TrainSimulatedTest, ARefusedSettingIsNamed) {
  const CommandOutcome unknown = run({"--workload", "resnet51", "--topo", "dgx-2"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("Did you mean 'resnet50'?"));
  const CommandOutcome device =
      run({"--workload", "resnet50", "--topo", "dgx-2", "--device", "v10"});
  EXPECT_EQ(device.code, 2);
  EXPECT_THAT(device.err, HasSubstr("Did you mean 'v100'?"));
  const CommandOutcome batch =
      run({"--workload", "resnet50", "--topo", "dgx-2", "--batch", "17", "--workers", "16"});
  EXPECT_EQ(batch.code, 2);
  EXPECT_THAT(batch.err, HasSubstr("not divisible"));
  const CommandOutcome wire = run({"--workload", "resnet50", "--topo", "dgx-2", "--wire", "f64"});
  EXPECT_EQ(wire.code, 2);
  EXPECT_THAT(wire.err, HasSubstr("--wire: f16 or bf16, not f64"));
  const CommandOutcome servers = run({"--topo", "star:5,1Gbps,20us", "--workers", "4", "--strategy",
                                      "parameter-server", "--buckets", "one"});
  EXPECT_EQ(servers.code, 2);
  EXPECT_THAT(servers.err, HasSubstr("--buckets is of steps with an all-reduce"));
}

}  // namespace
}  // namespace collbench

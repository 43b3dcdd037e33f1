// `collbench train` with workloads and simulated networks: what it prints and writes, and how it
// refuses.
#include <map>
#include <string>
#include <utility>
#include <vector>

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
  // --step-time is of all of them.
  EXPECT_NEAR(time(step({"--step-time", "100ms", "--accumulate", "4"}), "alone_ms"), 100, 1e-6);
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

TEST_F(TrainSimulatedTest, OnlyGradientsTravelInTheTypeOfTheWire) {
  const auto step = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"--workload", "mnist-cnn", "--topo", "star:4,10Gbps,20us", "--json", "-"});
    const CommandOutcome outcome = run(more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json<nlohmann::json>(outcome.out);
  };
  const nlohmann::json whole = step({"--sharding", "optimizer"});
  const nlohmann::json narrow = step({"--sharding", "optimizer", "--wire", "f16"});
  ASSERT_EQ(whole["buckets"].size(), 2U);
  ASSERT_EQ(narrow["buckets"].size(), 2U) << "planned at the type of the parameters";
  EXPECT_EQ(narrow["gathers"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto bytes = whole["buckets"][i]["bytes"].get<std::int64_t>();
    EXPECT_EQ(narrow["buckets"][i]["bytes"], bytes / 2);
    EXPECT_EQ(narrow["gathers"][i]["bytes"], bytes);
  }
  EXPECT_EQ(narrow["memory"]["parameters_bytes"], whole["memory"]["parameters_bytes"]);
}

TEST_F(TrainSimulatedTest, TheDeviceIsThatOfTheMachineOrIsAskedFor) {
  const auto on = [&](const char* topology) {
    return run({"--workload", "mnist-cnn", "--topo", topology, "--buckets", "one", "--algo", "ring",
                "--workers", "2"});
  };
  const std::pair<const char*, const char*> known[] = {
      {"cluster:2xaws-p5", "h100"},   {"cluster:2xaws-p5e", "h200"},    {"aws-p5en", "h200"},
      {"p5.48xlarge", "h100"},        {"gb200-nvl72", "b200"},          {"dgx-2", "v100"},
      {"cluster:2xdgx-b300", "b300"}, {"gb300-nvl72", "gb300"},         {"ethernet-10g:4", "v100"},
      {"alps-gh200", "gh200"},        {"cluster:2xalps-gh200", "gh200"}};
  for (const auto& [topology, device] : known) {
    const CommandOutcome outcome = on(topology);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(std::string("roofline of ") + device + " ")) << topology;
  }
  const CommandOutcome unknown = on("tpu-v5e:4x4");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no roofline of tpu-v5e:4x4 is known"));
}

TEST_F(TrainSimulatedTest, EveryAlgorithmThatABucketPlaysIsNamed) {
  const std::vector<std::string> words{"--workload",         "resnet50",  "--topo",
                                       "cluster:2xdgx-a100", "--buckets", "tensor"};
  std::vector<std::string> with_json = words;
  with_json.insert(with_json.end(), {"--json", "out.json"});
  const CommandOutcome outcome = run(with_json);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string header = outcome.out.substr(outcome.out.find("# 161 buckets"));
  std::map<std::string, int> counts;
  const auto document = parse_json<nlohmann::json>(folder_.read("out.json"));
  for (const auto& bucket : document["buckets"]) ++counts[bucket["algorithm"]];
  EXPECT_GT(counts.size(), 1U);
  for (const auto& [name, count] : counts) {
    EXPECT_NE(name, "");
    EXPECT_THAT(header.substr(0, header.find('\n')),
                HasSubstr(name + " for " + std::to_string(count)));
  }
}

TEST_F(TrainSimulatedTest, AnEfficiencyAboveOneIsExplained) {
  folder_.write("large_update.csv",
                "# batch: 8\n# optimizer_us: 100000\nlayer,kind,tensors,forward_flops,activations,"
                "forward_us,weight_us,input_us\na,linear,1000,1,1,1000,1000,0\n");
  const std::vector<std::string> words{"--workload",         "./large_update.csv", "--topo",
                                       "star:4,10Gbps,20us", "--worker-batch",     "8"};
  std::vector<std::string> shared = words;
  shared.insert(shared.end(), {"--sharding", "optimizer"});
  EXPECT_THAT(run(shared).out, HasSubstr("# above 100 %: one worker alone updates all parameters"));
  EXPECT_THAT(run(words).out, testing::Not(HasSubstr("above 100 %")));
}

TEST_F(TrainSimulatedTest, ATableOfTimesIsPlayedWithTheBatchThatTheyAreOf) {
  folder_.write("job.csv",
                "# batch: 1\nlayer,kind,tensors,forward_flops,activations,forward_us,weight_us,"
                "input_us\nb,bucket,1000,0,0,0,4000,0\n");
  const CommandOutcome outcome =
      run({"--workload", "./job.csv", "--topo", "star:4,200Gbps,5us", "--json", "-"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NEAR(parse_json<nlohmann::json>(outcome.out)["step_ms"].get<double>(), 4.0, 0.5);
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

TEST_F(TrainSimulatedTest, ServersHaveTheLinkOfTheFarthestWorker) {
  const auto link_of = [&](const char* workers, const char* servers) {
    const CommandOutcome outcome =
        run({"--model", "dense2", "--topo", "cluster:2xdgx-h100", "--workers", workers, "--servers",
             servers, "--strategy", "parameter-server", "--samples", "64", "--epochs", "1",
             "--compute-time", "1ms", "--json", "-"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto network = parse_json<nlohmann::json>(outcome.out)["network"].get<std::string>();
    return network.substr(network.find(','));
  };
  const std::string between_nodes = link_of("8", "8");
  EXPECT_EQ(link_of("7", "9"), between_nodes) << "one of nine servers is beside the workers";
  EXPECT_NE(link_of("4", "4"), between_nodes);
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

TEST_F(TrainSimulatedTest, WhatMeasuredTimesDoNotNeedHasNoEffect) {
  folder_.write("w.csv",
                "# parameters: 4\n# batch: 32\n"
                "layer,kind,tensors,forward_flops,activations,forward_us,weight_us,input_us\n"
                "one,linear,4,1,1,1,1,1\n");
  const CommandOutcome outcome =
      run({"--workload", "./w.csv", "--topo", "star:2,8Gbps,0us", "--workers", "2",
           "--compute-share", "0.1", "--memory-share", "0.01", "--draws", "50"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("--draws, --compute-share, --memory-share had no effect"));
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
  const CommandOutcome seats = run({"--topo", "star:4,1Gbps,20us", "--workers", "4", "--strategy",
                                    "parameter-server", "--compute-time", "1ms"});
  EXPECT_EQ(seats.code, 2);
  EXPECT_THAT(seats.err, HasSubstr("(4 workers and 1 parameter server need a host each)"));
}

TEST_F(TrainSimulatedTest, WhatDoesNotFitASimulatedStepIsRefusedBeforeIt) {
  const auto refused = [&](std::vector<std::string> more, const char* words) {
    more.insert(more.begin(), {"--workload", "mnist-cnn", "--topo", "star:4,10Gbps,20us"});
    const CommandOutcome outcome = run(more);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(words));
  };
  refused({"--optimizer", "rmsprop"}, "unknown optimizer");
  refused({"--strategy", "parameter-server"}, "strategy of a workload's steps");
  refused({"--slow-workers", "0:0.5,0:0.5"}, "0 is named twice");
  refused({"--datatype", "i32"}, "gradients are no whole numbers");
  refused({"--json", "-", "--trace", "-"}, "--trace: standard output already carries --json");
}

}  // namespace
}  // namespace collbench

// Runs of the binary with a library that stands in for the CUDA driver, NCCL and NVML.
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class RunNcclTest : public testing::Test {
 protected:
  std::map<std::string, std::string> machine() const {
    return {{"COLLBENCH_CUDA_LIBRARY", GPU_STAND_IN},
            {"COLLBENCH_NCCL_LIBRARY", GPU_STAND_IN},
            {"COLLBENCH_NVML_LIBRARY", GPU_STAND_IN}};
  }
  CommandOutcome run(std::vector<std::string> arguments,
                     const std::map<std::string, std::string>& settings = {}) {
    std::map<std::string, std::string> environment = machine();
    for (const auto& [name, value] : settings) environment[name] = value;
    for (const char* quick : {"-b", "16K", "-e", "16K", "-n", "10"}) arguments.emplace_back(quick);
    return invoke(folder_, arguments, environment);
  }
  Json records(std::vector<std::string> arguments,
               const std::map<std::string, std::string>& settings = {}) {
    arguments.insert(arguments.end(), {"--json", "-"});
    const CommandOutcome outcome = run(std::move(arguments), settings);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return parse_json<Json>(outcome.out);
  }
  RunFolder folder_;
};

TEST_F(RunNcclTest, ReducesOnThreadsWithAGpuEach) {
  const Json all = records({"--algo", "nccl", "-W", "4"});
  ASSERT_EQ(all["records"].size(), 1U);
  const Json& record = all["records"][0];
  EXPECT_EQ(record["wrong_elements"], 0);
  EXPECT_EQ(record["played"], "NCCL 2.28.9");
  EXPECT_EQ(record["case"]["backend"], "nccl");
  // 10 us and one per 1,000 elements of 4 bytes, by the stand-in.
  EXPECT_NEAR(record["estimate"]["time_ns"].get<double>(), 14096, 1);
  EXPECT_EQ(record["estimate"]["by"], "ncclGroupSimulateEnd");
}

TEST_F(RunNcclTest, RecordsSayWhichGpusDriverAndLibrary) {
  const Json environment = records({"--algo", "nccl"}, {{"NCCL_DEBUG", "WARN"}})["environment"];
  EXPECT_EQ(environment["gpu"], "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(environment["gpu_count"], "8");
  EXPECT_EQ(environment["gpu_driver"], "580.65.06");
  EXPECT_EQ(environment["cuda_driver"], "13.0");
  EXPECT_EQ(environment["nccl"], "2.28.9");
  EXPECT_EQ(environment["nccl_variables"], "NCCL_DEBUG=WARN");
  EXPECT_THAT(environment["gpu_topology"].get<std::string>(), HasSubstr("GPU7\tNV18"));
}

TEST_F(RunNcclTest, WarnsOfGpusThatAreSlowedDown) {
  const auto warnings = [&](const char* gpus) {
    const Json all = records({"--algo", "nccl", "-W", "2"},
                             {{"STAND_IN_DEVICES", "2"}, {"STAND_IN_GPUS", gpus}});
    return all["records"][0]["warnings"].dump();
  };
  EXPECT_THAT(warnings("5,3"), HasSubstr("gpu:1 (0000:40:00.0) was slowed down: thermal"));
  EXPECT_THAT(warnings("5,4"), HasSubstr("gpu 3 of nvidia-smi (0000:40:00.0) was slowed down"));
}

TEST_F(RunNcclTest, EveryForcedSettingHasProcessesOfItsOwn) {
  const Json all =
      records({"--algo", "nccl:algo=tree,nccl:algo=ring:proto=ll128,nccl:graph,nccl:parts=4"});
  ASSERT_EQ(all["records"].size(), 4U);
  std::map<std::string, double> estimates;
  for (const Json& record : all["records"]) {
    EXPECT_EQ(record["wrong_elements"], 0);
    estimates[record["played"]] = record["estimate"]["time_ns"];
  }
  // The stand-in's estimate tells what it found in its environment when it was first called.
  EXPECT_NEAR(estimates["NCCL 2.28.9, tree"], 2 * 14096, 1);
  EXPECT_NEAR(estimates["NCCL 2.28.9, ring, ll128"], 14096, 1);
  EXPECT_NEAR(estimates["NCCL 2.28.9, CUDA graph"], 14096, 1);
  EXPECT_NEAR(estimates["NCCL 2.28.9, 4 calls in a group"], 30'000 + 14096, 1);
}

TEST_F(RunNcclTest, RanksThatShareAGpuAreProcessesAndMarkedAsTimeSliced) {
  const Json all = records({"--algo", "nccl", "-W", "3"}, {{"STAND_IN_DEVICES", "1"}});
  const Json& record = all["records"][0];
  EXPECT_EQ(record["wrong_elements"], 0);
  EXPECT_EQ(record["played"], "NCCL 2.28.9; 3 ranks on 1 GPU, time-sliced");
  EXPECT_THAT(record["warnings"].dump(), HasSubstr("not a measurement of a network"));
}

TEST_F(RunNcclTest, EveryTypeAndOperatorIsRight) {
  const Json all = records({"--algo", "nccl", "-d", "all", "--op", "all"});
  std::set<std::pair<std::string, std::string>> right;
  for (const Json& record : all["records"]) {
    if (record["wrong_elements"] == 0) {
      right.emplace(record["case"]["data_type"], record["case"]["op"]);
    }
  }
  EXPECT_EQ(right.size(), 35U) << all.dump();
  const CommandOutcome uneven = run({"--algo", "nccl", "-W", "3", "--op", "avg"});
  EXPECT_EQ(uneven.code, 4);
  EXPECT_THAT(uneven.err, HasSubstr("NCCL divides before it adds"));
}

TEST_F(RunNcclTest, FindsAWrongResult) {
  const CommandOutcome outcome = run({"--algo", "nccl"}, {{"STAND_IN_FAULT", "wrong:1"}});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
}

TEST_F(RunNcclTest, EndsWithTheReasonOnEveryFault) {
  const std::map<std::string, std::string> words = {
      {"async:1", "rank 1 of 2: ncclAllReduce failed: remote process exited"},
      {"hang:1", "not done within 1 s"},
      {"call-hang:0", "not done within 1 s"},
      {"init-hang:1", "ncclCommInitRankConfig failed"},
      {"enqueue:0", "unhandled system error"}};
  const auto expect_reason = [&](const std::string& algorithm, const std::string& fault) {
    const CommandOutcome outcome =
        run({"--algo", algorithm, "--timeout", "1"}, {{"STAND_IN_FAULT", fault}});
    EXPECT_EQ(outcome.code, 5) << algorithm << " " << fault;
    EXPECT_THAT(outcome.err, HasSubstr(words.at(fault))) << algorithm << " " << fault;
  };
  for (const auto& [fault, reason] : words) expect_reason("nccl", fault);
  // What is forced has a process of its own, whose words are passed on.
  for (const char* fault : {"async:1", "hang:1"}) expect_reason("nccl:algo=ring", fault);
}

TEST_F(RunNcclTest, SaysWhatIsMissing) {
  const CommandOutcome no_driver =
      run({"--algo", "nccl"}, {{"COLLBENCH_CUDA_LIBRARY", "/nonexistent/libcuda.so.1"}});
  EXPECT_EQ(no_driver.code, 4);
  EXPECT_THAT(no_driver.err, HasSubstr("no NVIDIA driver on this machine"));
  const CommandOutcome no_device = run({"--algo", "nccl"}, {{"STAND_IN_DEVICES", "0"}});
  EXPECT_EQ(no_device.code, 4);
  EXPECT_THAT(no_device.err, HasSubstr("a driver is there but no GPU"));
  const CommandOutcome no_library =
      run({"--algo", "nccl", "--nccl-library", "/nonexistent/libnccl.so.2"});
  EXPECT_EQ(no_library.code, 4);
  EXPECT_THAT(no_library.err, HasSubstr("/nonexistent/libnccl.so.2 cannot be loaded"));
  const CommandOutcome old = run({"--algo", "nccl"}, {{"STAND_IN_NCCL_VERSION", "21003"}});
  EXPECT_EQ(old.code, 4);
  EXPECT_THAT(old.err, HasSubstr("is NCCL 2.10.3; collbench can use 2.18.0"));
  const CommandOutcome misspelt = run({"--algo", "nccl:algo=rign"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("Did you mean 'ring'"));
  EXPECT_EQ(run({"--algo", "nccl", "--skip-unavailable"}, {{"STAND_IN_DEVICES", "0"}}).code, 77);
}

TEST_F(RunNcclTest, WorkersOfSeveralMachinesMeetOverGrpc) {
  const std::string hosts = "127.0.0.1:38471,127.0.0.1:38472";
  const std::vector<std::string> common = {"--algo", "nccl", "--hosts", hosts, "--json", "-"};
  CommandOutcome second;
  std::thread other([&] {
    std::vector<std::string> arguments = common;
    arguments.insert(arguments.end(), {"--rank", "1"});
    second = run(arguments);
  });
  std::vector<std::string> arguments = common;
  arguments.insert(arguments.end(), {"--rank", "0"});
  const CommandOutcome first = run(arguments);
  other.join();
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(first.out, AllOf(HasSubstr("\"backend\":\"nccl\""), HasSubstr("NCCL 2.28.9")));
}

TEST_F(RunNcclTest, TheMachineFileHasItsGpus) {
  const CommandOutcome outcome =
      invoke(folder_, {"topo", "from-machine", "-o", "here.toml"}, machine());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const CommandOutcome shown = invoke(folder_, {"topo", "show", "here.toml"}, machine());
  EXPECT_THAT(shown.out, AllOf(HasSubstr("hosts      8;"), HasSubstr("nvlink4: 25 GB/s nominal")));
}

TEST_F(RunNcclTest, DoctorSaysWhatIsUsable) {
  const CommandOutcome good = invoke(folder_, {"doctor"}, machine());
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, AllOf(HasSubstr("nccl    usable"), HasSubstr("2.28.9 ("),
                              HasSubstr("580.65.06"), HasSubstr("GPU7\tNV18")));
  const CommandOutcome bare = invoke(folder_, {"doctor", "--format", "json"});
  EXPECT_EQ(bare.code, 0) << bare.err;
  EXPECT_THAT(bare.out, HasSubstr("\"survey_reason\""));
}

}  // namespace
}  // namespace collbench

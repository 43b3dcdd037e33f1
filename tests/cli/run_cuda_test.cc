// What `--backend cuda` and the engine of cuDNN say where there is no GPU: CUDA_VISIBLE_DEVICES
// hides those that there may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::HasSubstr;

CommandOutcome run_cuda(std::vector<std::string> arguments) {
  const RunFolder folder;
  arguments.insert(arguments.end(), {"-b", "1K", "-e", "1K", "--quiet"});
  return invoke(folder, arguments, {{"CUDA_VISIBLE_DEVICES", "-1"}});
}

TEST(RunCudaTest, EndsWithTheReasonWhereNoGpuCanBeUsed) {
  const CommandOutcome outcome = run_cuda({"--backend", "cuda", "--algo", "ring", "-W", "8"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("back end 'cuda' is not usable: "));
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(run_cuda({"--backend", "cuda", "--algo", "ring", "--dry-run"}).code, 4);
  EXPECT_EQ(run_cuda({"--backend", "cuda", "--algo", "ring", "--isolate"}).code, 4);
  EXPECT_EQ(run_cuda({"--backend", "cuda"}).code, 4);
}

TEST(RunCudaTest, CanBeLeftOutWhereItCannotRun) {
  const CommandOutcome outcome =
      run_cuda({"--backend", "shm,cuda", "--algo", "ring", "--skip-unavailable", "--csv", "-"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("shm"));
}

TEST(RunCudaTest, RefusesOptionsThatContradictEachOther) {
  EXPECT_EQ(run_cuda({"--backend", "cuda", "--executor", "persistant"}).code, 2);
  const CommandOutcome both = run_cuda({"--backend", "cuda", "--logical-devices", "8", "-W", "4"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("gives the number of workers"));
  const CommandOutcome graph = run_cuda({"--backend", "cuda", "--executor", "graph", "--isolate"});
  EXPECT_EQ(graph.code, 2);
  EXPECT_THAT(graph.err, HasSubstr("use --executor persistent"));
  EXPECT_EQ(run_cuda({"--backend", "cuda", "--private-buffers"}).code, 2);
}

TEST(RunCudaTest, PrintsNoTableForWhatCannotRun) {
  const RunFolder folder;
  const std::map<std::string, std::string> hidden = {{"CUDA_VISIBLE_DEVICES", "-1"},
                                                     {"COLLBENCH_NCCL_LIBRARY", "/nowhere"},
                                                     {"COLLBENCH_CUDA_LIBRARY", "/nowhere"}};
  for (const char* what : {"--backend=cuda", "--algo=nccl"}) {
    const CommandOutcome outcome = invoke(folder, {what, "-b", "1K", "-e", "1K"}, hidden);
    EXPECT_EQ(outcome.code, 4) << what;
    EXPECT_EQ(outcome.out, "") << what;
  }
  const CommandOutcome grpc = invoke(folder, {"--backend", "grpc", "--isolate"});
  EXPECT_EQ(grpc.code, 2);
  EXPECT_EQ(grpc.out, "");
}

TEST(RunCudaTest, ListsItsCasesWithoutAGpu) {
  const CommandOutcome outcome =
      run_cuda({"--backend", "cuda", "--algo", "ring", "--logical-devices", "8", "--list"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("workers=8"));
}

}  // namespace
}  // namespace collbench

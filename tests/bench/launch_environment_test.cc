#include "bench/launch_environment.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Variables = std::map<std::string, std::string>;

std::optional<LaunchedWorker> launched(const Variables& variables) {
  return launched_worker([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

const Variables torchrun = {{"RANK", "2"},         {"WORLD_SIZE", "4"},
                            {"GROUP_RANK", "1"},   {"GROUP_WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}};
const Variables open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_NAMESPACE", "12345"}};
const Variables slurm = {{"SLURM_PROCID", "1"},
                         {"SLURM_STEP_NUM_TASKS", "2"},
                         {"SLURM_JOB_ID", "77"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_STEP_NODELIST", "node[03-07,11],other"}};

Variables both(Variables one, const Variables& other) {
  one.insert(other.begin(), other.end());
  return one;
}

TEST(LaunchEnvironmentTest, NothingIsLaunchedWithoutVariables) {
  EXPECT_FALSE(launched({}));
  EXPECT_FALSE(launched({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})) << "a batch script";
}

TEST(LaunchEnvironmentTest, EachLauncherSaysRankSizeAndWhereRankZeroIs) {
  const auto expect = [](const Variables& variables, const char* source, int rank, int ranks,
                         const char* host) {
    const auto worker = launched(variables);
    ASSERT_TRUE(worker);
    EXPECT_EQ(worker->source, source);
    EXPECT_EQ(worker->rank, rank);
    EXPECT_EQ(worker->ranks, ranks);
    EXPECT_THAT(worker->meeting, testing::StartsWith(host));
  };
  expect(torchrun, "torchrun", 2, 4, "n0:29501");
  expect(open_mpi, "Open MPI", 1, 2, "127.0.0.1:");
  expect(slurm, "Slurm", 1, 2, "node03:");
}

TEST(LaunchEnvironmentTest, RanksOfOneJobMeetAtOnePortAndOtherJobsAtAnother) {
  Variables other = slurm;
  other["SLURM_PROCID"] = "0";
  EXPECT_EQ(launched(slurm)->meeting, launched(other)->meeting);
  other["SLURM_JOB_ID"] = "78";
  EXPECT_NE(launched(slurm)->meeting, launched(other)->meeting);
}

TEST(LaunchEnvironmentTest, TorchrunUnderSrunIsNoContradictionOtherDifferencesAre) {
  EXPECT_EQ(launched(both(torchrun, slurm))->source, "torchrun");
  Variables wrong = both(torchrun, slurm);
  wrong["GROUP_RANK"] = "0";
  EXPECT_THAT(
      [&] { launched(wrong); },
      ThrowsMessage<InvalidArgument>(HasSubstr(
          "torchrun says rank 2 of 4, Slurm says rank 1 of 2; unset the variables of one")));
  EXPECT_EQ(launched(both(open_mpi, slurm))->source, "Open MPI") << "they agree";
}

TEST(LaunchEnvironmentTest, RefusesHalfAndWrongVariables) {
  const auto refuses = [](const Variables& variables, const char* words) {
    EXPECT_THAT([&] { launched(variables); }, ThrowsMessage<InvalidArgument>(HasSubstr(words)));
  };
  refuses({{"RANK", "0"}}, "RANK is set, but WORLD_SIZE is not");
  refuses({{"RANK", "2"}, {"WORLD_SIZE", "2"}}, "RANK must be a whole number from 0 to 1, not '2'");
  refuses({{"RANK", "x"}, {"WORLD_SIZE", "2"}}, "not 'x'");
  refuses({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, "set MASTER_ADDR");
  refuses({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "set MASTER_PORT");
}

TEST(LaunchEnvironmentTest, TheFirstNodeOfAListIsFound) {
  EXPECT_EQ(first_node("a"), "a");
  EXPECT_EQ(first_node("a,b[1-2]"), "a");
  EXPECT_EQ(first_node("n[1-3]"), "n1");
  EXPECT_EQ(first_node("rack[01,05]-eth0,x"), "rack01-eth0");
  for (const char* wrong : {"", "n[", "n[x]", "[1]", "n[1"}) {
    EXPECT_THROW(first_node(wrong), InvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace collbench

// `collbench profile` as a user calls it. Skipped where MPI is not there.
#include <filesystem>
#include <string>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class ProfileTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(PROFILED_JOB).empty() || is_missing(PROFILED_LAUNCHER)) {
      GTEST_SKIP() << "MPI was not found when this was configured";
    }
  }
  /// Four processes on whatever cores there are.
  CommandOutcome profile(const std::vector<std::string>& options,
                         const std::vector<std::string>& job) {
    std::vector<std::string> words = {"profile"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", PROFILED_LAUNCHER, "-n", "4"});
    words.insert(words.end(), job.begin(), job.end());
    return invoke(folder_, words,
                  {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                   {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                   {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                   {"OMPI_MCA_mpi_yield_when_idle", "1"}});
  }
  RunFolder folder_;
};

TEST_F(ProfileTest, AnUnchangedProgramIsRecordedAndItsLateRankNamed) {
  const CommandOutcome outcome =
      profile({"--json", "--keep", "records"}, {PROFILED_JOB, "20", "65536", "1000", "2", "50000"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = parse_json<json>(outcome.out);
  EXPECT_EQ(report["late"], 2);
  EXPECT_EQ(report["ops"], 40) << report;
  EXPECT_TRUE(report["transfer_us_by_bytes"].contains("65536")) << report;
  EXPECT_THAT(outcome.err, ContainsRegex("^[0-9.]+\n")) << "the program's own output";
  const CommandOutcome again = invoke(folder_, {"logs", "records"});
  EXPECT_THAT(again.out, AllOf(HasSubstr("# MPI profile: 4 files"), HasSubstr("late rank: 2"),
                               HasSubstr("all-gather"), HasSubstr("MPI_COMM_WORLD")));
}

// On one processor the ranks come one after the other, each after it was ready.
TEST_F(ProfileTest, RanksThatShareAProcessorAreRecordedAsWaitingForIt) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int processor = 0;
  while (CPU_ISSET(processor, &allowed) == 0) ++processor;
  if (is_missing("taskset") || !std::filesystem::exists("/proc/thread-self/schedstat")) {
    GTEST_SKIP() << "no taskset, or a kernel that does not count";
  }
  const CommandOutcome outcome = profile({"--json"}, {"taskset", "-c", std::to_string(processor),
                                                      PROFILED_JOB, "40", "65536", "3000"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json report = parse_json<json>(outcome.out);
  ASSERT_TRUE(report.contains("waiting_held_up")) << report;
  EXPECT_GT(report["waiting_held_up"], 0.1);
}

TEST_F(ProfileTest, EveryProgramOfAJobIsRecorded) {
  const std::vector<std::string> job = {PROFILED_JOB, "3", "1024", "100"};
  std::vector<std::string> words = job;
  words.insert(words.end(), {":", "-n", "2"});
  words.insert(words.end(), job.begin(), job.end());
  const CommandOutcome outcome = profile({}, words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("# MPI profile: 6 files"), HasSubstr("6 ranks")));
}

TEST_F(ProfileTest, ARankThatIsStartedWithoutTheLibraryHoldsNobodyUp) {
  const CommandOutcome outcome =
      profile({}, {"sh", "-c",
                   "[ \"$OMPI_COMM_WORLD_RANK$PMI_RANK\" = 0 ] && unset LD_PRELOAD; exec \"$@\"",
                   "sh", PROFILED_JOB, "3", "1024", "100"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("# MPI profile: 3 files"));
}

TEST_F(ProfileTest, ARankThatWaitsInsideOfMpiIsNotLate) {
  const CommandOutcome outcome = profile({}, {PROFILED_JOB, "20", "64", "100", "1", "20000", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, Not(ContainsRegex("late rank: [0-9, ]*3")));
}

// A rank that waits there for a late one is not late: in C, mpif.h and what modules make of it.
TEST_F(ProfileTest, TheLibraryStandsBeforeAllCallsInWhichAProcessMayWait) {
  const std::string library =
      std::filesystem::path(COLLBENCH_BINARY).parent_path() / "libcollbench-mpi-profile.so";
  void* const handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  for (const char* function :
       {"MPI_Wait", "MPI_Recv", "MPI_Alltoallw", "MPI_Neighbor_allgatherv", "MPI_Win_wait",
        "MPI_Win_post", "MPI_Win_allocate", "MPI_Win_flush_all", "MPI_Comm_free", "MPI_File_open",
        "MPI_File_write_at_all", "MPI_Intercomm_create", "mpi_win_wait_", "mpi_file_open_",
        "MPI_FILE_CLOSE", "mpi_comm_disconnect__"}) {
    EXPECT_NE(dlsym(handle, function), nullptr) << function;
  }
}

TEST_F(ProfileTest, CommunicatorsAreToldApartHoweverTheyAreUsed) {
  const CommandOutcome outcome = profile({}, {PROFILED_JOB, "orders"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("8 records of 2 communicators"),
                                 Not(HasSubstr("disagree about the size"))));
}

TEST_F(ProfileTest, ARepeatedSignalLeavesNothingBehind) {
  const std::string command = std::string(COLLBENCH_BINARY) +
                              " profile -- " PROFILED_LAUNCHER " -n 2 " PROFILED_JOB
                              " 1000 64 20000 & sleep 2; kill -TERM $!; "
                              "kill -TERM $!; wait $!";
  const CommandOutcome outcome =
      invoke_program(folder_, "sh",
                     {"-c",
                      "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                      "OMPI_MCA_rmaps_base_oversubscribe=1; " +
                          command});
  EXPECT_EQ(outcome.code, 143) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "the folder of the records is removed";
}

TEST_F(ProfileTest, TheExitCodeIsTheProgramsAndWhatItLeftIsReported) {
  const CommandOutcome aborted = profile({}, {PROFILED_JOB, "nonsense"});
  EXPECT_EQ(aborted.code, 2) << aborted.err;
  EXPECT_THAT(aborted.out, HasSubstr("# MPI profile: ")) << aborted.err;
  EXPECT_EQ(profile({}, {"false"}).code, 1);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "no record was to be kept";
}

TEST_F(ProfileTest, ARingThatIsTooSmallKeepsTheLatestCallsAndSaysSo) {
  const CommandOutcome outcome = profile({"--calls", "6"}, {PROFILED_JOB, "20", "1024", "100"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("for which a profile had no room (--calls)"));
}

TEST_F(ProfileTest, WhatCannotBeRecordedIsSaid) {
  const CommandOutcome none = invoke(folder_, {"profile", "--", "true"});
  EXPECT_EQ(none.code, 4);
  EXPECT_THAT(none.err, HasSubstr("nothing was recorded"));
  EXPECT_EQ(invoke(folder_, {"profile", "--", "/no/such/program"}).code, 4);
  EXPECT_EQ(invoke(folder_, {"profile"}).code, 2);
  const CommandOutcome rules = invoke(folder_, {"profile", "--export-rules", "r", "--", "true"});
  EXPECT_EQ(rules.code, 2);
  EXPECT_THAT(rules.err, HasSubstr("needs --topo"));
  const auto refused = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "profile");
    options.insert(options.end(), {"--", "touch", "started"});
    const CommandOutcome outcome = invoke(folder_, options);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/started")) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(refused({"-t", "nosuch"}), HasSubstr("unknown name 'nosuch'"));
  EXPECT_THAT(refused({"-t", "star:4,10Gbps,5us", "--export-tuner", "t", "--export-rules", "r"}),
              HasSubstr("--export-tuner: a rule needs one of NCCL's protocols"));
  folder_.write("file", "");
  EXPECT_THAT(invoke(folder_, {"profile", "--keep", ".", "--", "true"}).err,
              HasSubstr("'.' is not empty"));
}

}  // namespace
}  // namespace collbench

// Plays both parts: GoogleTest starts this binary again under mpirun_command() with --as-rank, and
// each rank checks MPI and answers with its exit status.
#include "transports/mpi/mpi.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/transports/mpi_endpoint_ranks.h"
#include "tests/transports/small_values.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/library_sessions.h"
#include "transports/mpi/mpi_choice.h"
#include "transports/mpi/mpi_endpoint.h"
#include "transports/mpi/mpi_session.h"
#include "transports/play/schedule_communicator.h"

// Of any MPI, whose requests and statuses may be anything.
extern "C" int MPI_Finalized(int* is_finalized);

namespace collbench {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::string collect_errors(Communicator& communicator, bool other_collectives) {
  std::string errors;
  const auto note = [&](const std::string& error) {
    if (!error.empty()) errors += error + "\n";
  };
  for (const DataType type :
       {DataType::f32, DataType::f64, DataType::i32, DataType::i64, DataType::u8})
    for (const ReduceOp op : all_reduce_ops())
      for (const bool in_place : {true, false})
        note(all_reduce_error(communicator, type, op, 1000, in_place));
  for (const std::int64_t count : {0, 1, 3, 4097, 300001})
    note(all_reduce_error(communicator, DataType::f32, ReduceOp::sum, count, true));

  std::vector<int> value(3, communicator.rank() + 10);
  const Rank root = communicator.ranks() - 1;
  communicator.broadcast({reinterpret_cast<std::byte*>(value.data()), 3, DataType::i32}, root);
  if (value != std::vector<int>(3, root + 10)) note("broadcast is wrong");
  communicator.barrier();
  if (other_collectives) note(collective_errors(communicator));

  try {
    note(all_reduce_error(communicator, DataType::bf16, ReduceOp::sum, 4, true));
    note("bf16 was accepted");
  } catch (const Unavailable&) {
  }
  return errors;
}

std::string collect_errors(const Schedule& schedule) {
  const auto communicator =
      make_schedule_communicator(schedule, make_mpi_endpoint(Seconds{20}), "ours");
  std::string errors;
  const auto note = [&](DataType type, ReduceOp op, std::int64_t count, bool in_place) {
    const std::string error = all_reduce_error(*communicator, type, op, count, in_place);
    if (!error.empty()) errors += schedule.name() + ": " + error + "\n";
  };
  for (const DataType type : {DataType::f32, DataType::bf16, DataType::i64, DataType::u8})
    for (const bool in_place : {true, false}) note(type, ReduceOp::sum, 1001, in_place);
  for (const std::int64_t count : {0, 1, 3}) note(DataType::f64, ReduceOp::max, count, true);
  for (int repeat = 0; repeat < 2; ++repeat) note(DataType::f64, ReduceOp::sum, 40001, true);
  return errors;
}

// Every schedule that there is for so many ranks.
int play_schedules(int ranks) {
  std::string errors;
  for (const AlgorithmInfo& info : algorithms()) {
    std::optional<Schedule> schedule;
    try {
      schedule = make_schedule(std::string(info.name), ranks);
    } catch (const InvalidArgument&) {
      continue;
    }
    errors += collect_errors(*schedule);
  }
  std::fprintf(stderr, "%s", errors.c_str());
  return errors.empty() ? 0 : 1;
}

// A choice counts also where our messages came first and started MPI.
int choose_after_messages(const std::string& algorithm) {
  const auto endpoint = make_mpi_endpoint(Seconds{20});
  const auto communicator = make_mpi_communicator(algorithm);
  const std::string error =
      all_reduce_error(*communicator, DataType::f32, ReduceOp::sum, 10'000, true);
  std::fprintf(stderr, "%s", error.c_str());
  return error.empty() && last_played() == played_name(mpi_algorithm(algorithm)) ? 0 : 1;
}

// One rank stands still, or gives up; the others must say which, or why, and then leave a file:
// what the launcher says of ranks that end so is its own. MPICH 4.0.2's, which kills the rest,
// gives now the status of the one that ended and now 9, for any program.
int lose_rank(const std::string& part, const std::string& file) {
  auto owned = make_mpi_endpoint(Seconds{part == "silent" ? 1.0 : 20.0});
  Endpoint& endpoint = *owned;
  const auto communicator =
      make_schedule_communicator(make_schedule("ring", endpoint.ranks()), std::move(owned), "ours");
  communicator->barrier();
  if (endpoint.rank() == 1) {
    if (part == "told") endpoint.give_up("rank 1 is out of luck");
    for (;;) pause();
  }
  const auto begin = std::chrono::steady_clock::now();
  try {
    for (;;) communicator->barrier();
  } catch (const TransportError& error) {
    const Seconds waited = std::chrono::steady_clock::now() - begin;
    const bool is_named = std::string(error.what()).find("rank 1") != std::string::npos;
    if (is_named && waited < Seconds{5}) std::ofstream{file};
    return 7;
  }
}

// What is still to be done when main() has returned must find MPI finalized.
int end_before_destructors() {
  start_mpi_session();
  std::atexit([] {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized == 0) _exit(1);
  });
  return 0;
}

// Exit status 0 if all is well on this rank.
int play_rank(const std::string& algorithm, const std::string& part) {
  if (algorithm == "schedules") return play_schedules(std::stoi(part));
  if (algorithm == "endpoint") return play_endpoint(part);
  if (algorithm == "choose") return choose_after_messages(part);
  if (algorithm == "lose") {
    const std::size_t end = part.find(':');
    return lose_rank(part.substr(0, end), part.substr(end + 1));
  }
  if (algorithm == "end") return end_before_destructors();
  const auto communicator = make_mpi_communicator(algorithm);
  if (part == "die" && communicator->rank() == 0) raise(SIGKILL);
  const std::string errors = collect_errors(*communicator, algorithm == "mpi");
  if (part != "check") communicator->barrier();
  if (!errors.empty()) std::fprintf(stderr, "%s", errors.c_str());
  return errors.empty() ? 0 : 1;
}

// The status of all ranks together, as mpirun gives it.
int run_ranks(int ranks, const std::string& asked_for, const std::string& part) {
  std::vector<std::string> command = mpirun_command(ranks);
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  command.insert(command.end(), {"--as-rank", asked_for, part});
  const int status = std::system(fmt::format("'{}' </dev/null", fmt::join(command, "' '")).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class MpiAlgorithms : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(MpiAlgorithms, AgreeWithPlainArithmeticForEveryTypeAndOperator) {
  const auto& [algorithm, ranks] = GetParam();
  EXPECT_EQ(run_ranks(ranks, algorithm, "check"), 0);
}

std::vector<std::string> usable_algorithms() { return mpi_algorithms(); }

std::string name_of(const ::testing::TestParamInfo<std::tuple<std::string, int>>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(DefaultChoice, MpiAlgorithms,
                         ::testing::Combine(::testing::Values("mpi"), ::testing::Range(1, 5)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(ByName, MpiAlgorithms,
                         ::testing::Combine(::testing::ValuesIn(usable_algorithms()),
                                            ::testing::Values(3)),
                         name_of);

TEST(Mpi, AKilledRankEndsAll) { EXPECT_NE(run_ranks(3, "mpi", "die"), 0); }

TEST(MpiMachine, PlaysEveryScheduleExactly) {
  for (const int ranks : {1, 2, 3, 4}) {
    EXPECT_EQ(run_ranks(ranks, "schedules", std::to_string(ranks)), 0) << ranks;
  }
}

TEST(MpiMachine, PiecesKeepTheOrderOfTheirMessages) {
  EXPECT_EQ(run_ranks(2, "endpoint", "order"), 0);
}

TEST(MpiMachine, ATryLooksAgainBeforeItSaysNo) { EXPECT_EQ(run_ranks(2, "endpoint", "twice"), 0); }

TEST(MpiMachine, ASumArrivesOnlyInMemoryThatNoOtherTransferHas) {
  EXPECT_EQ(run_ranks(2, "endpoint", "sums"), 0);
}

TEST(MpiMachine, ASumArrivesInMemoryThatACompletedTransferHad) {
  EXPECT_EQ(run_ranks(2, "endpoint", "freed"), 0);
}

TEST(MpiMachine, TwoLongSumsAreStagedAtATime) { EXPECT_EQ(run_ranks(2, "endpoint", "staged"), 0); }

TEST(MpiMachine, SendsAnyNumberOfLongMessagesAtOnce) {
  EXPECT_EQ(run_ranks(2, "endpoint", "flood"), 0);
}

bool names_lost_rank(int ranks, const std::string& part) {
  const std::string file = fmt::format("{}mpi_{}_{}", ::testing::TempDir(), part, getpid());
  EXPECT_NE(run_ranks(ranks, "lose", part + ":" + file), 0);
  return std::filesystem::remove(file);
}

// By the neighbours that wait for it; mpirun then ends it.
TEST(MpiMachine, ARankThatStandsStillIsNamedWithinTheTimeout) {
  EXPECT_TRUE(names_lost_rank(2, "silent"));
}

TEST(MpiMachine, ARankThatGivesUpTellsAll) { EXPECT_TRUE(names_lost_rank(3, "told")); }

TEST(Mpi, IsFinalizedBeforeItsProcessExits) { EXPECT_EQ(run_ranks(3, "end", ""), 0); }

TEST(Mpi, SuggestsTheAlgorithmThatWasMeant) {
  try {
    mpi_algorithm("mpi:rabenseifer");
    FAIL() << "mpi:rabenseifer was accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("Did you mean 'mpi:rabenseifner'?"));
  }
}

TEST(Mpi, ARankOfMpirunDoesNotStartItAgain) {
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  EXPECT_THROW(mpirun_command(2), Unavailable);
  unsetenv("OMPI_COMM_WORLD_RANK");
}

TEST(Mpi, RefusesLessThanOneRank) { EXPECT_THROW(mpirun_command(0), InvalidArgument); }

// What only Open MPI does.
class OpenMpi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!mpi_library().starts_with("Open MPI")) GTEST_SKIP() << "this is " << mpi_library();
  }
};

TEST_F(OpenMpi, SegmentsAreOfTheRingThatHasThem) {
  EXPECT_EQ(mpi_algorithm("mpi:segmented-ring").segment, Bytes{131072});
  EXPECT_EQ(mpi_algorithm("mpi:segmented-ring:segment=64K").segment, Bytes{65536});
  EXPECT_THROW(mpi_algorithm("mpi:ring:segment=64K"), InvalidArgument);
  EXPECT_THROW(mpi_algorithm("mpi:segmented-ring:segment=x"), InvalidArgument);
}

TEST_F(OpenMpi, PlaysWhatIsChosenAlsoAfterMessagesOfOurs) {
  for (const std::string& algorithm : usable_algorithms()) {
    if (algorithm == "mpi") continue;
    EXPECT_EQ(run_ranks(2, "choose", algorithm), 0) << algorithm;
  }
}

TEST_F(OpenMpi, RanksYieldExactlyWhenTheyAreMoreThanTheCores) {
  const auto yields = [](int ranks) {
    const auto command = mpirun_command(ranks);
    return *(std::find(command.begin(), command.end(), "mpi_yield_when_idle") + 1);
  };
  EXPECT_EQ(yields(1), "0");
  EXPECT_EQ(yields(100000), "1");
}

}  // namespace
}  // namespace collbench

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--as-rank") {
    int code = 2;
    try {
      code = collbench::play_rank(argv[2], argv[3]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    collbench::end_library_sessions();
    return code;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

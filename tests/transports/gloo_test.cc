#include "transports/gloo/gloo.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <thread>
#include <tuple>
#include <vector>

#include <gloo/rendezvous/file_store.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/transports/small_values.h"

#include "core/error.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

// Runs `work` on one thread per rank; what each threw, if anything.
std::vector<std::exception_ptr> run_ranks(int ranks, const std::function<void(Rank)>& work) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        work(r);
      } catch (...) {
        errors[static_cast<std::size_t>(r)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

void rethrow_first(const std::vector<std::exception_ptr>& errors) {
  for (const std::exception_ptr& error : errors)
    if (error != nullptr) std::rethrow_exception(error);
}

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const TransportError& transport_error) {
    return transport_error.what();
  }
}

GlooOptions options_for(const std::string& algorithm, double timeout_seconds = 20) {
  return {algorithm, Seconds{timeout_seconds}};
}

std::string collect_errors(Communicator& communicator) {
  std::string errors;
  const auto note = [&](const std::string& error) {
    if (!error.empty()) errors += error + "\n";
  };
  for (const DataType type : all_data_types()) {
    if (type == DataType::bf16) continue;
    for (const ReduceOp op : all_reduce_ops())
      note(all_reduce_error(communicator, type, op, 1000, true));
    note(all_reduce_error(communicator, type, ReduceOp::sum, 1000, false));
  }
  for (const std::int64_t count : {0, 1, 3, 4097, 300001})
    for (const bool in_place : {true, false})
      note(all_reduce_error(communicator, DataType::f32, ReduceOp::sum, count, in_place));
  return errors;
}

class GlooAlgorithms : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(GlooAlgorithms, AgreeWithPlainArithmeticForEveryTypeAndOperator) {
  const auto& [algorithm, ranks] = GetParam();
  const auto store = make_gloo_memory_store();
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  rethrow_first(run_ranks(ranks, [&, n = ranks, name = algorithm](Rank r) {
    const auto communicator = make_gloo_communicator(r, n, store, options_for(name));
    ASSERT_EQ(communicator->rank(), r);
    ASSERT_EQ(communicator->ranks(), n);
    errors[static_cast<std::size_t>(r)] = collect_errors(*communicator);
    communicator->barrier();  // a rank that leaves closes connections that others may still need
  }));
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<std::string, int>>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ':' || c == '-'; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Gloo, GlooAlgorithms,
                         ::testing::Combine(::testing::ValuesIn(gloo_algorithms()),
                                            ::testing::Range(1, 6)),
                         name_of);

TEST(Gloo, HasEveryCollectiveInPlaceAndOutOfPlaceForSharesOfAnySize) {
  for (const int ranks : {1, 2, 5}) {
    const auto store = make_gloo_memory_store();
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    rethrow_first(run_ranks(ranks, [&](Rank r) {
      const auto communicator = make_gloo_communicator(r, ranks, store, options_for("gloo"));
      errors[static_cast<std::size_t>(r)] = collective_errors(*communicator);
      communicator->barrier();
    }));
    for (const std::string& error : errors) EXPECT_EQ(error, "") << ranks << " ranks";
  }
}

TEST(Gloo, BroadcastCopiesTheRootAndBarrierWaitsForAll) {
  const auto store = make_gloo_memory_store();
  std::vector<std::vector<int>> values(3, std::vector<int>(5));
  std::atomic<int> entered = 0;
  rethrow_first(run_ranks(3, [&](Rank r) {
    const auto communicator = make_gloo_communicator(r, 3, store, options_for("gloo"));
    std::vector<int>& mine = values[static_cast<std::size_t>(r)];
    std::fill(mine.begin(), mine.end(), 10 + r);
    communicator->broadcast({reinterpret_cast<std::byte*>(mine.data()), 5, DataType::i32}, 2);
    ++entered;
    communicator->barrier();
    EXPECT_EQ(entered, 3);
  }));
  for (const auto& value : values) EXPECT_THAT(value, ::testing::Each(12));
}

TEST(Gloo, OlderAlgorithmsAcceptANewAddressOnOneRankOnly) {
  const auto store = make_gloo_memory_store();
  std::vector<float> sums(2);
  rethrow_first(run_ranks(2, [&](Rank r) {
    const auto communicator =
        make_gloo_communicator(r, 2, store, options_for("gloo:halving-doubling"));
    std::vector<float> first(100, 1.0F);
    std::vector<float> second(100, 1.0F);
    for (int i = 0; i < 6; ++i) {
      std::vector<float>& buffer = r == 1 && i % 2 == 1 ? second : first;
      std::fill(buffer.begin(), buffer.end(), static_cast<float>(i + r));
      const Region region{reinterpret_cast<std::byte*>(buffer.data()), 100, DataType::f32};
      communicator->all_reduce(region, region, ReduceOp::sum);
      sums[static_cast<std::size_t>(r)] += buffer[99];
    }
    communicator->barrier();
  }));
  EXPECT_THAT(sums, ::testing::Each(36.0F));  // sum of 2i + 1 for i = 0 to 5
}

TEST(Gloo, RefusesBf16AndNamesTheTypesItHas) {
  const auto communicator =
      make_gloo_communicator(0, 1, make_gloo_memory_store(), options_for("gloo"));
  std::vector<std::byte> bytes(4);
  const Region region{bytes.data(), 2, DataType::bf16};
  try {
    communicator->all_reduce(region, region, ReduceOp::sum);
    FAIL() << "bf16 was accepted";
  } catch (const Unavailable& error) {
    EXPECT_THAT(error.what(), HasSubstr("Gloo cannot reduce bf16; it can reduce f16, f32"));
  }
}

TEST(Gloo, SuggestsTheAlgorithmThatWasMeant) {
  try {
    make_gloo_communicator(0, 1, make_gloo_memory_store(), options_for("gloo:rnig"));
    FAIL() << "gloo:rnig was accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("Did you mean 'gloo:ring'?"));
  }
}

TEST(Gloo, NamesTheRanksThatDidNotCome) {
  const auto store = make_gloo_memory_store();
  const auto errors = run_ranks(
      2, [&](Rank r) { make_gloo_communicator(2 * r, 4, store, options_for("gloo", 0.3)); });
  for (const auto& error : errors) EXPECT_THAT(message_of(error), HasSubstr("missed rank 1, 3"));
}

// A folder for one test, removed at its end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gloo_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Forks one process per rank; `work` returns the exit status of its rank. The wait statuses.
std::vector<int> run_processes(int ranks, const std::function<int(Rank)>& work) {
  std::vector<pid_t> children;
  for (Rank r = 0; r < ranks; ++r) {
    const pid_t child = fork();
    if (child == 0) {
      int status = 99;
      try {
        status = work(r);
      } catch (const std::exception& error) {
        fprintf(stderr, "rank %d: %s\n", r, error.what());
      }
      _exit(status);
    }
    children.push_back(child);
  }
  std::vector<int> statuses;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    statuses.push_back(status);
  }
  return statuses;
}

TEST(Gloo, ProcessesMeetInAFolder) {
  const Folder folder;
  const auto statuses = run_processes(3, [&](Rank r) {
    const auto communicator =
        make_gloo_communicator(r, 3, std::make_shared<gloo::rendezvous::FileStore>(folder.path()),
                               options_for("gloo:ring-chunked"));
    const std::string error =
        all_reduce_error(*communicator, DataType::f64, ReduceOp::sum, 50000, true);
    communicator->barrier();
    return error.empty() ? 0 : 1;
  });
  EXPECT_THAT(statuses, ::testing::Each(0));
}

TEST(Gloo, SurvivorsNameTheRankThatWasKilled) {
  const Folder folder;
  const auto statuses = run_processes(3, [&](Rank r) {
    const auto communicator = make_gloo_communicator(
        r, 3, std::make_shared<gloo::rendezvous::FileStore>(folder.path()), options_for("gloo"));
    communicator->barrier();
    if (r == 1) raise(SIGKILL);
    // Lets every connection of the lost rank break before anyone fails because of another one.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    try {
      all_reduce_error(*communicator, DataType::f32, ReduceOp::sum, 1000, true);
    } catch (const TransportError& error) {
      const std::string message = error.what();
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      if (message.find("lost rank 1)") != std::string::npos) return 0;
      fprintf(stderr, "rank %d: %s\n", r, message.c_str());
    }
    return 1;
  });
  EXPECT_EQ(statuses[0], 0);
  EXPECT_TRUE(WIFSIGNALED(statuses[1]));
  EXPECT_EQ(statuses[2], 0);
}

}  // namespace
}  // namespace collbench

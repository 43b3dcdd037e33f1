// What `auto` picks on this host: the rivals that it names beside its choice.
#include "heuristics/policies/choose.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.h"
#include "core/error.h"

namespace collbench {
namespace {

using namespace literals;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

ChoiceKind kind_of(std::string_view backend) {
  if (backend == "shm") return ChoiceKind::shared_memory;
  if (backend == "cuda") return ChoiceKind::gpu_memory;
  return backend == "grpc" ? ChoiceKind::messages : ChoiceKind::own;
}

Choice choose_sum(const char* backend, int workers, Bytes bytes, int cores) {
  return choose(backend, kind_of(backend), workers, bytes, DataType::f32, ReduceOp::sum, cores);
}

std::map<std::string, Seconds> measured_at(const char* backend, int workers, Bytes bytes) {
  std::map<std::string, Seconds> times;
  for (const MeasuredTime& row : local_times(backend, 2)) {
    if (row.scale.ranks == workers && row.bytes == bytes) times[row.algorithm] = row.time;
  }
  return times;
}

TEST(ChooseTest, RivalsAreThoseMeasuredCloseToTheChoice) {
  for (const int workers : {2, 4, 8}) {
    const auto times = measured_at("grpc", workers, 1_MiB);
    const Choice choice = choose_sum("grpc", workers, 1_MiB, 2);
    const Seconds chosen = times.at(choice.algorithm);
    Seconds last{0};
    for (const std::string& rival : choice.rivals) {
      EXPECT_LE(times.at(rival), chosen * 1.6) << rival;
      EXPECT_GE(times.at(rival), last) << "likeliest first";
      last = times.at(rival);
    }
    EXPECT_FALSE(choice.rivals.empty()) << workers;
    EXPECT_LE(choice.rivals.size(), 5U) << workers;
  }
  EXPECT_THAT(choose_sum("shm", 8, 1_MiB, 2).rivals, IsEmpty()) << "direct is far ahead";
}

TEST(ChooseTest, RivalsOfARuleFitEverywhereAndLeaveReplicasEqual) {
  for (const char* backend : {"grpc", "shm"}) {
    for (const Bytes bytes : {1_KiB, 1_MiB}) {
      for (int workers = 2; workers < 40; ++workers) {
        const Choice choice = choose_sum(backend, workers, bytes, 61);
        EXPECT_GE(choice.rivals.size(), 3U);
        EXPECT_THAT(choice.rivals, Not(Contains(choice.algorithm)));
        for (const std::string& rival : choice.rivals) {
          EXPECT_NO_THROW(make_schedule(rival, workers)) << rival << ' ' << workers;
          EXPECT_TRUE(is_replica_consistent(parse_algorithm_spec(rival))) << rival;
        }
      }
    }
  }
}

TEST(ChooseTest, LibrariesThatChooseThemselvesHaveNoRivals) {
  for (const char* backend : {"gloo", "mpi", "nccl"}) {
    EXPECT_THAT(choose_sum(backend, 4, 1_MiB, 4).rivals, IsEmpty()) << backend;
  }
}

// No times are built in for 61 cores, so that the rule decides.
TEST(ChooseTest, MessagesRuleSmallVectorsAndBytesLargeOnes) {
  const auto chosen = [](int workers, Bytes bytes, int cores) {
    return choose_sum("grpc", workers, bytes, cores).algorithm;
  };
  EXPECT_EQ(chosen(2, 256_KiB, 61), "one-shot");
  EXPECT_EQ(chosen(2, Bytes{(256 << 10) + 4}, 61), "direct");
  EXPECT_EQ(chosen(61, 32_KiB, 61), "one-shot");
  EXPECT_EQ(chosen(61, Bytes{(32 << 10) + 4}, 61), "direct");
  EXPECT_EQ(chosen(62, 64_KiB, 61), "reduce-broadcast") << "more workers than cores";
  EXPECT_EQ(chosen(62, Bytes{(64 << 10) + 4}, 61), "direct");
  EXPECT_THAT(choose_sum("grpc", 62, 1_KiB, 61).reason,
              testing::HasSubstr("this sends 122 instead of 7564"))
      << "2 (N-1) and 2 N (N-1)";
  EXPECT_EQ(choose_sum("shm", 3, 1_KiB, 61).algorithm, "direct");
  EXPECT_EQ(choose_sum("cuda", 3, 1_KiB, 61).algorithm, "direct");
}

TEST(ChooseTest, BuiltInTimesHaveWholeRowsAndOrderedQuartiles) {
  int rows = 0;
  for (const char* backend : {"shm", "grpc"}) {
    for (int cores = 1; cores <= 64; ++cores) {
      for (const MeasuredTime& row : local_times(backend, cores)) {
        ++rows;
        EXPECT_EQ(row.library, backend);
        EXPECT_EQ(row.scale.nodes, 1);
        EXPECT_GE(row.scale.ranks, 2);
        EXPECT_GT(row.bytes.count, 0);
        EXPECT_GT(row.samples, 0);
        EXPECT_GT(row.low, Seconds{0});
        EXPECT_LE(row.low, row.time) << row.algorithm;
        EXPECT_GT(row.low * 20, row.time) << "of one unit";
        EXPECT_LE(row.time, row.high) << row.algorithm;
        EXPECT_NO_THROW(make_schedule(row.algorithm, row.scale.ranks)) << row.algorithm;
      }
    }
  }
  EXPECT_GT(rows, 900);
}

}  // namespace
}  // namespace collbench

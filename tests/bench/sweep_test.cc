#include "bench/measure/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "bench/measure/case_filter.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::int64_t> sizes(std::int64_t first, std::int64_t last, double factor,
                                std::int64_t step = 0, DataType type = DataType::f32) {
  Sweep sweep;
  sweep.first = {first};
  sweep.last = {last};
  sweep.factor = factor;
  sweep.step = {step};
  sweep.common.type = type;
  std::vector<std::int64_t> counts;
  for (const Bytes size : sweep_sizes(sweep)) counts.push_back(size.count);
  return counts;
}

std::string refusal_of_sweep(const Sweep& sweep) {
  return refusal<Error>([&] { sweep_cases(sweep); });
}

TEST(SweepSizesTest, MultiplyUpToAndIncludingTheLast) {
  EXPECT_THAT(sizes(1024, 65536, 4), ElementsAre(1024, 4096, 16384, 65536));
  EXPECT_THAT(sizes(1024, 65535, 4), ElementsAre(1024, 4096, 16384));
  EXPECT_THAT(sizes(1000, 3400, 1.5), ElementsAre(1000, 1500, 2248, 3372));
}

TEST(SweepSizesTest, StepUpToAndIncludingTheLast) {
  EXPECT_THAT(sizes(0, 12, 4, 4), ElementsAre(0, 4, 8, 12));
  EXPECT_THAT(sizes(4, 13, 4, 4), ElementsAre(4, 8, 12));
}

TEST(SweepSizesTest, AreWholeElementsWithoutRepetition) {
  EXPECT_THAT(sizes(9, 15, 4, 1), ElementsAre(8, 12));
  EXPECT_THAT(sizes(9, 17, 4, 1, DataType::f64), ElementsAre(8, 16));
  EXPECT_THAT(sizes(7, 7, 4, 0, DataType::u8), ElementsAre(7));
}

TEST(SweepSizesTest, RefuseWhatWouldNotEnd) {
  EXPECT_THROW(sizes(2048, 1024, 4), InvalidArgument);
  EXPECT_THROW(sizes(1024, 2048, 1), InvalidArgument);
  EXPECT_THROW(sizes(0, 2048, 2), InvalidArgument);
  EXPECT_THROW(sizes(0, std::int64_t{1} << 40, 2, 4), InvalidArgument);
  EXPECT_THAT(sizes(std::int64_t{1} << 61, std::int64_t{1} << 62, 2), SizeIs(2));
}

TEST(SweepCasesTest, AlternateAlgorithmsWithinEachSize) {
  Sweep sweep;
  sweep.algorithms = {"ring", "direct"};
  sweep.first = {1024};
  sweep.last = {4096};
  std::vector<std::string> order;
  for (const Case& point : sweep_cases(sweep)) {
    order.push_back(point.algorithm + std::to_string(point.bytes.count));
  }
  EXPECT_THAT(order, ElementsAre("ring1024", "direct1024", "ring4096", "direct4096"));
}

TEST(SweepCasesTest, GiveSchedulesSharedMemoryAndBlackBoxesTheirOwnBackEnd) {
  Sweep sweep;
  sweep.algorithms = {"ring", "gloo", "mpi"};
  sweep.last = sweep.first;
  std::vector<std::string> backends;
  for (const Case& point : sweep_cases(sweep)) backends.push_back(point.backend);
  EXPECT_THAT(backends, ElementsAre("shm", "gloo", "mpi"));
}

TEST(SweepCasesTest, MeanTheBlackBoxItselfWhenAutoRunsOnIt) {
  Sweep sweep;
  sweep.backends = {"threads", "gloo"};
  sweep.last = sweep.first;
  const auto cases = sweep_cases(sweep);
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_EQ(cases[0].backend, "shm");
  EXPECT_EQ(cases[0].algorithm, "auto");
  EXPECT_EQ(cases[1].algorithm, "gloo");
}

std::vector<std::string> columns_of(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const Case& point : sweep_cases(sweep)) {
    names.push_back(point.algorithm + " on " + point.backend + (point.isolate ? ", isolated" : "") +
                    (point.transport.empty() ? "" : ", " + point.transport));
  }
  return names;
}

TEST(SweepCasesTest, MixBackEndsOfWhichEachCaseHasItsOwn) {
  Sweep sweep;
  sweep.algorithms = {"ring@shm", "ring@grpc", "gloo", "mpi", "direct@shm", "auto@gloo"};
  sweep.last = sweep.first;
  sweep.common.transport = "raw";
  EXPECT_THAT(columns_of(sweep), ElementsAre("ring on shm", "ring on grpc, raw", "gloo on gloo",
                                             "mpi on mpi", "direct on shm", "gloo on gloo"));
  sweep.algorithms = {"ring@mpi", "auto@mpi", "mpi"};  // ours and the library's own
  EXPECT_THAT(columns_of(sweep), ElementsAre("ring on mpi", "auto on mpi", "mpi on mpi"));
  sweep.algorithms = {"ring:segments=4@grpc", "ring"};
  sweep.backends = {"shm"};  // of those that name none
  EXPECT_THAT(columns_of(sweep), ElementsAre("ring:segments=4 on grpc, raw", "ring on shm"));
}

TEST(SweepCasesTest, IsolationIsOfTheBackEndsThatHaveAChoice) {
  Sweep sweep;
  sweep.algorithms = {"ring@shm", "ring@grpc"};
  sweep.last = sweep.first;
  sweep.common.isolate = true;
  EXPECT_THAT(columns_of(sweep), ElementsAre("ring on shm, isolated", "ring on grpc"));
  sweep.algorithms = {"ring@grpc", "gloo"};
  EXPECT_THAT(refusal_of_sweep(sweep), HasSubstr("none of these back ends can isolate"));
}

TEST(SweepCasesTest, RefuseBackEndsThatCannotPlayTheAlgorithmNamedWithThem) {
  const auto refusal_of = [](const std::string& algorithm) {
    Sweep sweep;
    sweep.algorithms = {"ring", algorithm};
    return refusal_of_sweep(sweep);
  };
  EXPECT_THAT(refusal_of("ring@gloo"), HasSubstr("'gloo' plays no schedules"));
  EXPECT_THAT(refusal_of("gloo@shm"), HasSubstr("cannot run on back end shm"));
  EXPECT_THAT(refusal_of("ring@grcp"), HasSubstr("Did you mean 'grpc'?"));
  EXPECT_THAT(refusal_of("ring@"), HasSubstr("'ring@' is not of the form ALGORITHM@BACKEND"));
  EXPECT_THAT(refusal_of("@shm"), HasSubstr("'@shm' is not of the form ALGORITHM@BACKEND"));
}

TEST(SweepCasesTest, AnAtSignInThePathOfAFileIsNoBackEnd) {
  EXPECT_EQ(placed_algorithm("file:v@2/ring.xml").algorithm, "file:v@2/ring.xml");
  EXPECT_EQ(placed_algorithm("file:v@2/ring.xml@grpc").algorithm, "file:v@2/ring.xml");
  EXPECT_EQ(placed_algorithm("file:v@2/ring.xml@grpc").backend, "grpc");
}

TEST(SweepCasesTest, SayWhatWouldBePossible) {
  Sweep sweep;
  sweep.algorithms = {"rnig"};
  EXPECT_THAT(refusal_of_sweep(sweep), HasSubstr("Did you mean 'ring'?"));
  sweep.algorithms = {"swing"};
  sweep.workers = {6};
  EXPECT_THAT(refusal_of_sweep(sweep), HasSubstr("power of two"));
  sweep.algorithms = {"ring"};
  sweep.backends = {"gloo"};
  EXPECT_THAT(refusal_of_sweep(sweep), HasSubstr("use --algo gloo"));
  sweep.backends = {"grcp"};
  EXPECT_THAT(refusal_of_sweep(sweep), HasSubstr("Did you mean 'grpc'?"));
  sweep.backends = {"grpc"};
  sweep.algorithms = {"nccl"};
  EXPECT_THAT(refusal_of_sweep(sweep), HasSubstr("'nccl' is a back end of its own"));
}

TEST(SweepCasesTest, LeaveOutOfAllWhatDoesNotFit) {
  Sweep sweep;
  sweep.algorithms = {"all"};
  sweep.last = sweep.first;
  sweep.workers = {8};
  const std::size_t for_eight = sweep_cases(sweep).size();
  sweep.workers = {6};
  EXPECT_LT(sweep_cases(sweep).size(), for_eight);  // swing needs a power of two
}

Case example() {
  Case point;
  point.algorithm = "ring:segments=4";
  point.backend = "shm";
  point.workers = 4;
  point.bytes = {1 << 20};
  return point;
}

TEST(CaseFilterTest, KeepsCasesForWhichAllTermsHold) {
  const auto keeps = [](const char* filter) { return matches(parse_filter(filter), example()); };
  EXPECT_TRUE(keeps(""));
  EXPECT_TRUE(keeps("algo:ring bytes>=1M workers:(4|8)"));
  EXPECT_TRUE(keeps("algo:ring:segments=4"));
  EXPECT_TRUE(keeps("bytes<=1M place:in type:float op:sum"));
  EXPECT_FALSE(keeps("algo:ring bytes>1M"));
  EXPECT_FALSE(keeps("workers:(2|8)"));
  EXPECT_FALSE(keeps("place:out"));
}

TEST(CaseFilterTest, NoTermHoldsOfWhatACaseOfAnotherBenchmarkDoesNotHave) {
  Case point;
  point.algorithm = "sort";
  for (const char* filter : {"bytes<=4K", "workers:2", "type:f32", "op:sum", "place:in"}) {
    EXPECT_FALSE(matches(parse_filter(filter), point)) << filter;
  }
  EXPECT_TRUE(matches(parse_filter("algo:sort"), point));
  point.bytes = Bytes{1 << 20};
  EXPECT_FALSE(matches(parse_filter("bytes<=4K"), point));
  EXPECT_TRUE(matches(parse_filter("bytes>4K"), point));
}

TEST(CaseFilterTest, RefusesTermsThatCannotBeMeant) {
  for (const char* text :
       {"ring", "algo:", "algos:ring", "workers:many", "bytes>=big", "workers:(2|", "workers:()",
        "algo>ring", "place:here", "type:f31", ":", ">"}) {
    EXPECT_THROW(parse_filter(text), InvalidArgument) << text;
  }
}

}  // namespace
}  // namespace collbench

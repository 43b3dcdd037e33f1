// Programs of others as algorithms: what they stand for, and what is refused.
#include "algorithms/exchange/schedule_file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/simulated_ranks.h"
#include "tests/core/refusal.h"

#include "algorithms/exchange/msccl_xml.h"
#include "algorithms/verify.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A file of this test, removed at its end.
class ScheduleFile : public testing::Test {
 protected:
  ~ScheduleFile() override { std::filesystem::remove(path_); }
  std::string holding(const std::string& text) {
    std::ofstream(path_) << text;
    return "file:" + path_;
  }
  std::string path_ =
      testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ":=.xml";
};

std::string refusal_of_file(const std::string& spec, int ranks) {
  return refusal([&] { make_schedule(spec, ranks); });
}

TEST_F(ScheduleFile, IsTheScheduleThatWasExported) {
  for (const char* name : {"ring", "double-tree", "swing", "torus:dims=2x4"}) {
    const Schedule exported = make_schedule(name, 8);
    const std::string spec = holding(to_msccl_xml(exported));
    EXPECT_EQ(to_string(parse_algorithm_spec(spec)), spec);
    const Schedule read = make_schedule(spec, 8);
    EXPECT_EQ(read.name(), spec);
    EXPECT_EQ(read.chunks(), exported.chunks());
    EXPECT_EQ(count_cost(read).total_messages, count_cost(exported).total_messages) << name;
    EXPECT_TRUE(verify_allreduce(read).ok()) << name;
    EXPECT_TRUE(is_replica_consistent(parse_algorithm_spec(spec))) << name;
  }
}

TEST_F(ScheduleFile, RanksOfOneShotMayEndWithDifferentSums) {
  const std::string spec = holding(to_msccl_xml(make_schedule("one-shot", 4)));
  EXPECT_FALSE(is_replica_consistent(parse_algorithm_spec(spec)));
}

TEST_F(ScheduleFile, HalvesArePlayedAsThemselvesAlsoWithSharesOfChosenSizes) {
  const Collective gather{CollectiveKind::all_gather};
  const Schedule exported = make_schedule({"ring", {}}, 4, Bytes{0}, gather);
  const AlgorithmSpec spec =
      parse_algorithm_spec(holding(to_msccl_xml(exported, CollectiveKind::all_gather)));
  EXPECT_TRUE(verify(make_schedule(spec, 4, Bytes{0}, gather), gather).ok());
  const Collective uneven = with_counts(gather, "5,0,1,2", 4);
  const Schedule cut = make_schedule(spec, 4, Bytes{0}, uneven);
  EXPECT_EQ(cut.partition()(1, 8, 4), 5);
  EXPECT_THAT(refusal([&] { make_schedule(spec, 4); }),
              HasSubstr("coll must be 'allreduce', not 'allgather'"));
  EXPECT_THAT(refusal([&] { make_schedule(spec, 4, Bytes{0}, {CollectiveKind::reduce}); }),
              HasSubstr("not of a reduce"));
}

TEST_F(ScheduleFile, AnotherNumberOfRanksIsRefused) {
  const std::string spec = holding(to_msccl_xml(make_schedule("ring", 4)));
  EXPECT_THAT(refusal_of_file(spec, 8), HasSubstr("the program is for 4 ranks, not 8"));
}

TEST_F(ScheduleFile, AProgramThatIsNoAllReduceIsRefused) {
  // Rank 0 hears of rank 1, and not the other way round.
  const std::string spec = holding(R"(<algo name="half" nchunksperloop="1" nchannels="1"
      proto="Simple" ngpus="2" coll="allreduce" inplace="1">
    <gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0">
      <tb id="0" send="-1" recv="1" chan="0"><step s="0" type="rrc" srcbuf="i" srcoff="0"
        dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu>
    <gpu id="1" i_chunks="1" o_chunks="0" s_chunks="0">
      <tb id="0" send="0" recv="-1" chan="0"><step s="0" type="s" srcbuf="i" srcoff="0"
        dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/></tb></gpu></algo>)");
  EXPECT_THAT(refusal<WrongResult>([&] { make_schedule(spec, 2); }),
              AllOf(HasSubstr(path_), HasSubstr("no all-reduce: ")));
}

TEST_F(ScheduleFile, WhatCannotBeReadIsRefusedByItsPath) {
  EXPECT_THAT(refusal_of_file("file:", 2), HasSubstr("write file:PATH"));
  EXPECT_THAT(refusal_of_file("file", 2), HasSubstr("write file:PATH"));
  EXPECT_THAT(refusal_of_file(holding("<algo"), 2), HasSubstr(path_));
  EXPECT_THROW(make_schedule("file:/no/such.xml", 2), Unavailable);
  EXPECT_THROW(make_schedule("file:/", 2), Unavailable);
}

TEST_F(ScheduleFile, IsInNoListOfAlgorithms) {
  for (const AlgorithmInfo& row : algorithms()) EXPECT_NE(row.name, "file");
  EXPECT_EQ(find_algorithm("file").name, "file");
}

}  // namespace
}  // namespace collbench

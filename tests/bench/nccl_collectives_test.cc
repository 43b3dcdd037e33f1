// Tables of nccl-tests and rccl-tests of other collectives than the all-reduce, and what tells
// them.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "bench/foreign/foreign_tables.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

MeasuredTable read_of(const std::string& text, const TableHints& hints = {}) {
  return read_foreign(text, "table.txt", hints);
}

std::string host_with(int ranks) {
  std::string text =
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 1024 step: 2(factor) warmup iters: 5\n";
  for (int rank = 0; rank < ranks; ++rank) {
    text += fmt::format("#  Rank  {0} Group  0 Pid 41 on a device  {0} [0x19] NVIDIA A100\n", rank);
  }
  return text;
}

/// Two rows whose columns are those of one of nccl-tests' programs: src/all_gather.cu and the like.
std::string rows_of(const char* op, int root, int shares) {
  std::string text;
  for (const int bytes : {1 << 20, 1 << 24}) {
    text +=
        fmt::format("{} {} float {} {} 120.5 8.70 7.61 0\n", bytes, bytes / 4 / shares, op, root);
  }
  return text;
}

TEST(NcclCollectives, RowsOfOtherCollectivesAreReadWhereTheseAreWanted) {
  const std::string all = rows_of("none", -1, 8) + rows_of("sum", -1, 8) + rows_of("none", 3, 1) +
                          rows_of("sum", 3, 1) + rows_of("sum", -1, 1);
  for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                    CollectiveKind::broadcast, CollectiveKind::reduce}) {
    const MeasuredTable table = read_of(host_with(8) + all, {.collective = kind});
    ASSERT_EQ(table.times.size(), 2U) << to_string(kind);
    EXPECT_EQ(table.times[0].collective, kind);
    EXPECT_EQ(table.times[0].root, has_root(kind) ? 3 : 0);
    EXPECT_EQ(table.times[0].scale, (Scale{8, 1}));
    EXPECT_EQ(table.times[1].bytes, Bytes{1 << 24});
    EXPECT_THAT(table.notes,
                Contains(HasSubstr(fmt::format("8 rows that are not of {}", to_string(kind)))));
  }
}

TEST(NcclCollectives, SizeAndCountTellTheRanksOfWhatHasShares) {
  const TableHints gather{.collective = CollectiveKind::all_gather};
  const MeasuredTable table = read_of(rows_of("none", -1, 16), gather);
  EXPECT_EQ(table.times.at(0).scale, (Scale{16, 0}));
  EXPECT_THAT(table.notes, ElementsAre(HasSubstr("16 ranks, by size and count"),
                                       HasSubstr("as which those of an all-to-all look")));
  const MeasuredTable shortened = read_of(host_with(2) + rows_of("none", -1, 16), gather);
  EXPECT_EQ(shortened.times.at(0).scale, (Scale{16, 0}));
  EXPECT_THAT(shortened.notes,
              Contains(HasSubstr("name 2 ranks, but size and count are those of 16")));
}

TEST(NcclCollectives, TheNameOfATestTellsMoreThanItsColumns) {
  const auto test = [](const char* name) {
    return fmt::format("# Collective test starting: {}\n", name);
  };
  const std::string text = host_with(8) + test("alltoall_perf") + rows_of("none", -1, 8) +
                           test("all_gather_perf") + rows_of("none", -1, 8) +
                           test("sendrecv_perf") + rows_of("sum", -1, 1);
  const MeasuredTable gather = read_of(text, {.collective = CollectiveKind::all_gather});
  EXPECT_EQ(gather.times.size(), 2U);
  EXPECT_THAT(gather.notes, Not(Contains(HasSubstr("all-to-all"))));
  EXPECT_THROW(read_of(text), InvalidArgument) << "a send and receive has an all-reduce's columns";
}

// Members as nccl-tests 2.19 writes them: src/util.cu.
TEST(NcclCollectives, JsonIsOfTheCollectiveThatItsProgramOrItsColumnsName) {
  const auto json = [](const std::string& args, const char* op, int count, int root) {
    return fmt::format(
        R"({{{}"config":{{"devices":[{{"hostname":"a"}},{{"hostname":"a"}}]}},"results":[{{
        "size":64,"count":{},"type":"float","redop":"{}","root":"{:6}",
        "out_of_place":{{"time":3.5}}}}]}})",
        args, count, op, root);
  };
  const auto of = [](CollectiveKind kind) { return TableHints{.collective = kind}; };
  const std::string scatter = json("", "sum", 8, -1);
  EXPECT_THAT(refusal([&] { read_of(scatter); }), HasSubstr("1 rows that are not of all-reduce"));
  EXPECT_EQ(read_of(scatter, of(CollectiveKind::reduce_scatter)).times.size(), 1U);
  const MeasuredTime root =
      read_foreign(json("", "none", 16, 1), "file", of(CollectiveKind::broadcast)).times.at(0);
  EXPECT_EQ(root.root, 1);
  EXPECT_EQ(root.collective, CollectiveKind::broadcast);
  const std::string send = json(R"("args":["/opt/sendrecv_perf","-b","64"],)", "sum", 16, -1);
  EXPECT_THAT(refusal([&] { read_of(send); }),
              HasSubstr("not of all-reduce, but of sendrecv_perf"));
  const std::string rccl =
      R"([{"name":"AllGather","nodes":1,"ranks":8,"size":64,"type":"float","redop":"none",
      "inPlace":1,"time":7.25,"busBw":1.0,"wrong":"0"}])";
  EXPECT_EQ(read_foreign(rccl, "file", of(CollectiveKind::all_gather)).times.size(), 1U);
}

}  // namespace
}  // namespace collbench

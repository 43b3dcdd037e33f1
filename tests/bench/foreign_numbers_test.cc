// Numbers in tables of other benchmarks that no type holds.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"
#include "tests/core/refusal.h"

#include "bench/foreign/foreign_tables.h"

namespace collbench {
namespace {

using testing::HasSubstr;

std::string refusal_of_reading(const std::string& text, const TableHints& hints = {}) {
  return refusal([&] { read_foreign(text, "file", hints); });
}

TEST(ForeignNumbersTest, OurCsvKeepsBuffersAndTheOnlyFigureOfARow) {
  std::vector<Record> records = {scripted_record("ring", 2, {1024}, 3000),
                                 scripted_record("ring", 2, {1024}, 9000),
                                 scripted_record("tree", 2, {1024}, 12'300)};
  records[0].point.buffers = Buffers::hot;
  records[1].point.buffers = Buffers::cold;
  records[2].point.statistic = "mean";
  records[2].measurement.latency_ns.resize(1);
  std::ostringstream out;
  play(*reporter_of("csv", out), records, RunSummary{});
  const RecordFile back = to_records(read_foreign(out.str(), "file"));
  ASSERT_EQ(back.records.size(), 3U) << out.str();
  const char* const statistics[] = {"median", "median", "mean"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back.records[i].point.buffers, records[i].point.buffers) << i;
    EXPECT_EQ(back.records[i].point.statistic, statistics[i]);
    EXPECT_EQ(back.records[i].measurement.latency_ns[0], records[i].measurement.latency_ns[0]);
  }
  // Others may mean something else.
  EXPECT_EQ(read_foreign("ranks,bytes,avg_us,buffers\n4,1024,9,3\n", "file").times.at(0).buffers,
            "");
}

// 641 x 6700417 is 2^32 + 1.
TEST(ForeignNumbersTest, WhatOverflowsIsRefused) {
  EXPECT_THAT(refusal_of_reading("nodes,tasks_per_node,bytes,avg_us\n10256,6700417,1024,30\n"),
              HasSubstr("6700417 on each of 10256 nodes"));
  EXPECT_THAT(refusal_of_reading("numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,"
                                 "type,redop,inplace,time,algbw,busbw,#wrong\n"
                                 "0,AllReduce,2,10256,5128,6700417,1024,float,sum,0,16.9,1,1,0\n"),
              HasSubstr("68719476752 GPUs are too many"));
  const std::string results = R"("results":[{"size":1e300,"type":"float","redop":"sum",
      "out_of_place":{"time":3.5}}]})";
  EXPECT_THAT(refusal_of_reading(R"({"config":{"ngpus":8},)" + results, {.ranks = 2}),
              HasSubstr("size is 1e+300; it must be at most"));
  EXPECT_THAT(refusal_of_reading(R"({"config":{"ngpus":1e300},)" + results, {.ranks = 2}),
              HasSubstr("config.ngpus is 1e+300; it must be at most"));
  const MeasuredTable many = read_foreign(
      R"({"benchmarks":[{"name":"ring/shm/workers:8/64","real_time":9,"iterations":1e300}]})",
      "file");
  EXPECT_EQ(many.times.at(0).samples, 1'000'000'000);
}

TEST(ForeignNumbersTest, WhatNcclTestsDidNotCheckIsNull) {
  const MeasuredTable table = read_foreign(
      R"({"results":[{"size":64,"type":"float","redop":"sum","out_of_place":{"time":3.5,
      "nwrong":null},"in_place":{"time":3,"nwrong":"2"}}]})",
      "file", {.ranks = 2});
  EXPECT_EQ(table.times.at(0).wrong, -1);
  EXPECT_EQ(table.times.at(1).wrong, 2);
}

TEST(ForeignNumbersTest, TheCoresOfARecordAreThoseThatItsRanksMightUse) {
  const auto cores_with = [](const Environment& environment) {
    const RecordFile file{environment, {scripted_record("ring", 2, Bytes{1024}, 5000)}};
    return to_measurements(file, "run.json").times.at(0).scale.cores;
  };
  EXPECT_EQ(cores_with({{"cores", "64"}, {"affinity", "0-2,8"}}), 4) << "in a container";
  EXPECT_EQ(cores_with({{"cores", "64"}, {"affinity", "unknown"}}), 64);
  EXPECT_EQ(cores_with({{"cores", "64"}}), 64);
  EXPECT_EQ(cores_with({}), 0);
}

// The output of a killed job ends anywhere.
TEST(ForeignNumbersTest, ARowThatEndsEarlyHasNoTimesOfOtherColumns) {
  const std::string heading =
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
  const std::vector<std::string> words = {"1048576", "262144", "float", "sum", "-1",
                                          "20.5",    "51.15",  "76.72", "0",   "21.5",
                                          "48.77",   "73.16",  "0"};
  const auto row = [&](std::size_t columns) {
    std::string text;
    for (std::size_t i = 0; i < columns; ++i) text += words[i] + (i + 1 < columns ? " " : "\n");
    return text;
  };
  for (const std::size_t columns : {8, 9, 10, 11, 12}) {
    const MeasuredTable table =
        read_foreign(heading + row(13) + row(columns), "file", {.ranks = 4, .nodes = 2});
    EXPECT_EQ(table.times.size(), columns == 9 ? 3U : 2U) << columns;
    for (const MeasuredTime& time : table.times) EXPECT_FALSE(time.is_wrong()) << columns;
  }
}

TEST(ForeignNumbersTest, FilesOfAFolderThatAreNoTablesAreCountedAndRowsAreNot) {
  const std::string folder = testing::TempDir() + "/tables-of-which-one-is-lost";
  std::filesystem::create_directories(folder);
  const std::string rest = "  -1  20.5  0.05  0.08  0  20.1  0.05  0.08  0\n";
  std::ofstream(folder + "/1.txt") << "#  Rank  0 Pid 1 on a device  0\n#  Rank  1 Pid 2 on a "
                                      "device  1\n# algbw busbw\n  1024  256  float  sum"
                                   << rest << "  8  2  float  none" << rest;
  std::ofstream(folder + "/2.txt") << "a crash\n";
  std::vector<std::string> notes;
  std::size_t lost = 0;
  EXPECT_EQ(read_as_records(folder, notes, &lost).records.size(), 2U);
  EXPECT_EQ(lost, 1U);
  EXPECT_THAT(notes, testing::Contains(HasSubstr("left out: 1 rows without an operator")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace collbench

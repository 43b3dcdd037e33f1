#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"

#include "bench/records/report.h"

namespace collbench {
namespace {

using testing::HasSubstr;

std::string nccl_table(const std::vector<Record>& records) {
  std::ostringstream out;
  play(*reporter_of("nccl", out), records, {});
  return out.str();
}

Record out_of_place(Record record) {
  record.point.in_place = false;
  return record;
}

/// The rows as people's parsers read nccl-tests: 13 fields that are numbers or names.
std::vector<std::smatch> parse(const std::string& text, std::vector<std::string>& storage) {
  const std::string half = R"(\s+([0-9.]+)\s+([0-9.]+)\s+([0-9.]+)\s+(\d+))";
  const std::regex row(R"(^\s*(\d+)\s+(\d+)\s+(\w+)\s+(\w+)\s+(-?\d+))" + half + half + "$");
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') storage.push_back(line);
  }
  std::vector<std::smatch> rows;
  for (const std::string& line : storage) {
    std::smatch match;
    EXPECT_TRUE(std::regex_match(line, match, row)) << line;
    rows.push_back(match);
  }
  return rows;
}

TEST(NcclReporterTest, RanksThatDifferAreNotOk) {
  Record record = scripted_record("ring", 8, {1 << 20}, 100'000);
  record.measurement.replicas_identical = false;
  EXPECT_THAT(nccl_table({record}), HasSubstr("# Out of bounds values : 1 FAILED"));
}

TEST(NcclReporterTest, PutsBothPlacesOfASizeIntoOneRow) {
  std::vector<std::string> storage;
  const auto rows =
      parse(nccl_table({out_of_place(scripted_record("ring", 8, {1 << 20}, 200'000)),
                        scripted_record("ring", 8, {1 << 20}, 100'000),
                        out_of_place(scripted_record("ring", 8, {4 << 20}, 20'000'000)),
                        scripted_record("ring", 8, {4 << 20}, 400)}),
            storage);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][1], "1048576");
  EXPECT_EQ(rows[0][2], "262144");
  EXPECT_EQ(rows[0][3], "float");
  EXPECT_EQ(rows[0][4], "sum");
  EXPECT_EQ(rows[0][6], "200.0");
  EXPECT_EQ(rows[0][7], "5.24");
  EXPECT_EQ(rows[0][8], "9.18");
  EXPECT_EQ(rows[0][10], "100.0");
  EXPECT_EQ(rows[0][12], "18.35");
  EXPECT_EQ(rows[1][6], "20000");
  EXPECT_EQ(rows[1][10], "0.40");
}

TEST(NcclReporterTest, HasTheHeadingsThatParsersLookFor) {
  const std::string text = nccl_table({scripted_record("ring", 2, {1024}, 5000)});
  EXPECT_THAT(text,
              HasSubstr("#       size         count      type   redop    root     time   algbw"
                        "   busbw #wrong     time   algbw   busbw #wrong\n"));
  EXPECT_THAT(text,
              HasSubstr("#        (B)    (elements)                               (us)  (GB/s)"
                        "  (GB/s)            (us)  (GB/s)  (GB/s)"));
  EXPECT_THAT(text, HasSubstr("#" + std::string(62, ' ') + "out-of-place" + std::string(23, ' ') +
                              "in-place" + std::string(10, ' ') + "\n"));
  EXPECT_THAT(text, HasSubstr("# Out of bounds values : 0 OK\n"));
  EXPECT_THAT(text, HasSubstr("# Avg bus bandwidth    : 0.2048\n"));
}

TEST(NcclReporterTest, CountsWrongElementsAsFailed) {
  Record record = scripted_record("ring", 2, {1024}, 5000);
  record.measurement.wrong = 3;
  EXPECT_THAT(nccl_table({record}), HasSubstr("# Out of bounds values : 3 FAILED"));
}

TEST(NcclReporterTest, PutsOnlyCasesThatDifferInSizeAndPlaceIntoOneTable) {
  const Record record = scripted_record("ring", 4, {4096}, 5000);
  for (const auto change : std::initializer_list<void (*)(Case&)>{
           [](Case& c) { c.type = DataType::f64; }, [](Case& c) { c.op = ReduceOp::max; },
           [](Case& c) { c.collective = CollectiveKind::broadcast; },
           [](Case& c) { c.groups = "2x2"; }, [](Case& c) { c.checksum = true; }}) {
    Record other = out_of_place(record);
    change(other.point);
    const std::string text = nccl_table({record, other});
    EXPECT_NE(text.find("# Avg bus bandwidth"), text.rfind("# Avg bus bandwidth")) << text;
  }
}

TEST(NcclReporterTest, OtherCollectivesAreCountedAsNcclTestsDoes) {
  Record gather = scripted_record("ring", 4, {4096}, 5000);
  gather.point.collective = CollectiveKind::all_gather;
  const std::string text = nccl_table({gather});
  EXPECT_THAT(text, HasSubstr("ring on shm, 4 workers, all-gather\n"));
  EXPECT_THAT(text, HasSubstr("        4096           256     float    none      -1  "));
  Record reduce = gather;
  reduce.point.collective = CollectiveKind::reduce;
  reduce.point.root = 2;
  EXPECT_THAT(nccl_table({reduce}),
              HasSubstr("        4096          1024     float     sum       2  "));
}

TEST(NcclReporterTest, GivesEachAlgorithmItsOwnTable) {
  const std::string text = nccl_table(
      {scripted_record("ring", 2, {1024}, 5000), scripted_record("tree", 2, {1024}, 7000)});
  EXPECT_THAT(text, HasSubstr("ring on shm, 2 workers"));
  EXPECT_THAT(text, HasSubstr("tree on shm, 2 workers"));
  EXPECT_NE(text.find("# Avg bus bandwidth"), text.rfind("# Avg bus bandwidth"));
}

}  // namespace
}  // namespace collbench

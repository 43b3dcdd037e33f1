#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"

#include "bench/reports/columns.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> names_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.emplace_back(column.name);
  return names;
}

std::vector<std::string> names_for(const std::vector<Record>& records) {
  std::vector<Case> cases;
  for (const Record& record : records) cases.push_back(record.point);
  return names_of(table_columns({}, cases, false));
}

TEST(ColumnsTest, ShowWhatVariesUnlessToldOtherwise) {
  const Record one = scripted_record("ring", 2, {1024}, 5000);
  const Record other = scripted_record("tree", 8, {1024}, 5000);
  EXPECT_THAT(names_for({one}), Not(Contains("algorithm")));
  EXPECT_THAT(names_for({one, other}), Contains("workers"));
  EXPECT_THAT(names_of(table_columns({"busbw", "size"}, {one.point, other.point}, false)),
              ElementsAre("busbw", "size"));
}

TEST(ColumnsTest, ShowBuffersAndDisturbancesOfASimulationWhereTheyDiffer) {
  const Record hot = scripted_record("ring", 2, {1024}, 5000);
  Record cold = hot;
  cold.point.buffers = Buffers::cold;
  EXPECT_THAT(names_for({hot, hot}), Not(Contains("buffers")));
  EXPECT_THAT(names_for({hot, cold}), Contains("buffers"));
  Record simulated = hot;
  simulated.point.simulated.topology = "star:2";
  Record jitter = simulated;
  jitter.point.simulated.jitter = Seconds{5e-6};
  EXPECT_THAT(names_for({simulated, jitter}), Contains("jitter"));
  jitter.point.simulated.seed = 2;
  Record other_seed = jitter;
  other_seed.point.simulated.seed = 3;
  EXPECT_THAT(names_for({jitter, other_seed}), Contains("jitter"));
}

TEST(ColumnsTest, EveryColumnHasANameOfItsOwnAndShowsSomething) {
  Record record = scripted_record("ring", 2, {1024}, 5000);
  record.bound = Bound{Seconds{1e-6}, "memory"};
  record.point.simulated.topology = "star";
  record.point.collective = CollectiveKind::broadcast;
  record.point.groups = "1x2";
  record.point.counts = "1,2";
  record.point.checksum = true;
  record.point.inject = "drop";
  record.point.devices = "gpu:0";
  record.point.simulated.stragglers = "1:2us";
  record.point.simulated.slow_hosts = "1:0.5";
  record.point.simulated.jitter = Seconds{1e-6};
  record.point.simulated.equal_chunks = true;
  record.measurement.exact.emplace();
  record.measurement.exact->engine = "fluid";
  const std::vector<std::string> names = column_names();
  for (const Column& column : table_columns(names, {record.point}, false)) {
    EXPECT_EQ(std::count(names.begin(), names.end(), column.name), 1) << column.name;
    EXPECT_THAT(cell_text(column, {record, figures(record)}), Not(IsEmpty())) << column.name;
    EXPECT_NE(cell_text(column, {record, figures(record)}), "-") << column.name;
  }
}

TEST(ColumnsTest, RowsWithoutAFigureComeLastInBothDirections) {
  std::vector<Record> records;
  for (int i = 0; i < 9; ++i) {
    records.push_back(scripted_record("ring", 2, {1024 + i}, 1000 * (i * 5 % 9 + 1)));
    if (i % 2 == 1) records.back().point.statistic = "mean";
  }
  for (const char* key : {"p50", "-p50"}) {
    sort_records(records, {key});
    std::vector<double> shown;
    for (const Record& record : records) {
      const double median = figures(record).median_us;
      shown.push_back(std::isnan(median) ? -1 : median);
    }
    EXPECT_EQ(std::count(shown.begin() + 5, shown.end(), -1), 4) << key;
    const bool ordered = key[0] == '-'
                             ? std::is_sorted(shown.begin(), shown.begin() + 5, std::greater<>())
                             : std::is_sorted(shown.begin(), shown.begin() + 5);
    EXPECT_TRUE(ordered) << key;
  }
}

TEST(ColumnsTest, ASkippedRowHasDashesForItsFigures) {
  Record record = scripted_record("mpi", 2, {1024}, 5000);
  record.measurement = {};
  record.skipped = "no Open MPI here";
  const auto columns = table_columns({"size", "p50", "wrong"}, {record.point}, false);
  EXPECT_EQ(cell_text(columns[0], {record, figures(record)}), "1 KiB");
  EXPECT_EQ(cell_text(columns[1], {record, figures(record)}), "-");
  EXPECT_EQ(cell_text(columns[2], {record, figures(record)}), "-");
}

std::vector<std::int64_t> sizes_sorted_by(std::vector<Record> records,
                                          const std::vector<std::string>& keys) {
  sort_records(records, keys);
  std::vector<std::int64_t> sizes;
  for (const Record& record : records) sizes.push_back(record.point.bytes.count);
  return sizes;
}

TEST(SortTest, OrdersNumbersAsNumbersAndBothWays) {
  const std::vector<Record> records = {scripted_record("ring", 2, {9}, 10'000),
                                       scripted_record("ring", 2, {1000}, 9'000),
                                       scripted_record("ring", 2, {80}, 100'000)};
  EXPECT_THAT(sizes_sorted_by(records, {"size"}), ElementsAre(9, 80, 1000));
  EXPECT_THAT(sizes_sorted_by(records, {"p50"}), ElementsAre(1000, 9, 80));
  EXPECT_THAT(sizes_sorted_by(records, {"-p50"}), ElementsAre(80, 9, 1000));
}

TEST(SortTest, TheNextKeyDecidesBetweenEquals) {
  const std::vector<Record> records = {
      scripted_record("tree", 2, {1}, 10'000), scripted_record("ring", 2, {2}, 10'000),
      scripted_record("ring", 4, {3}, 10'000), scripted_record("tree", 4, {4}, 10'000)};
  EXPECT_THAT(sizes_sorted_by(records, {"algorithm", "-workers"}), ElementsAre(3, 2, 4, 1));
  EXPECT_THAT(sizes_sorted_by(records, {"p50"}), ElementsAre(1, 2, 3, 4));  // as they came
}

TEST(SortTest, SkippedRecordsComeLastWhateverTheKey) {
  Record skipped = scripted_record("mpi", 2, {1}, 10'000);
  skipped.measurement = {};
  skipped.skipped = "no Open MPI here";
  const std::vector<Record> records = {skipped, scripted_record("ring", 2, {2}, 10'000)};
  EXPECT_THAT(sizes_sorted_by(records, {"p50"}), ElementsAre(2, 1));
  EXPECT_THAT(sizes_sorted_by(records, {"-size"}), ElementsAre(2, 1));
}

TEST(SortTest, TheTableShowsItsRowsSorted) {
  std::ostringstream out;
  TableStyle style;
  style.sort = {"-size"};
  style.columns = {"size"};
  style.quiet = true;
  play(*reporter_of("table", out, {.style = style}),
       {scripted_record("ring", 2, {1024}, 5000), scripted_record("ring", 2, {1 << 20}, 5000)}, {});
  EXPECT_EQ(out.str(), "#     size\n#\n     1 MiB\n     1 KiB\n");
}

}  // namespace
}  // namespace collbench

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"

#include "bench/records/report.h"
#include "bench/reports/columns.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string table(const std::vector<Record>& records, TableStyle style = {},
                  const RunSummary& summary = {}) {
  std::ostringstream out;
  play(*reporter_of("table", out, {.style = style}), records, summary);
  return out.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> rows_of(const std::string& text) {
  std::vector<std::string> rows = lines_of(text);
  std::erase_if(rows, [](const std::string& line) { return line.empty() || line[0] == '#'; });
  return rows;
}

TEST(TableReporterTest, ShowsTheFiguresOfNcclTestsDefinition) {
  // 1 MiB in 100 us is 10.49 GB/s; times 2(8-1)/8 it is 18.35 GB/s on the bus.
  const std::string text = table({scripted_record("ring", 8, {1 << 20}, 100'000)});
  ASSERT_EQ(rows_of(text).size(), 1U);
  std::istringstream row(rows_of(text)[0]);
  std::string size, unit, count, median, interval, p95, algbw, busbw, bound, percent, wrong;
  row >> size >> unit >> count >> median >> interval >> p95 >> algbw >> busbw >> bound >> percent >>
      wrong;
  EXPECT_EQ(size + unit, "1MiB");
  EXPECT_EQ(count, "262144");
  EXPECT_EQ(median, "100.0");
  EXPECT_EQ(interval, "0.0");
  EXPECT_EQ(algbw, "10.49");
  EXPECT_EQ(busbw, "18.35");
  EXPECT_EQ(bound, "-");
  EXPECT_EQ(wrong, "0");
}

TEST(TableReporterTest, SaysWhatDisturbedSeveralCasesOnce) {
  std::vector<Record> records;
  for (int i = 0; i < 12; ++i) {
    records.push_back(scripted_record("ring", 8, {1024 << i}, 100'000));
    records.back().measurement.warnings = {"time-sliced", "preempted: " + std::to_string(i)};
  }
  const std::string text = table(records);
  EXPECT_THAT(text, HasSubstr("! 1 KiB ring on shm and 11 more: time-sliced"));
  EXPECT_THAT(text, HasSubstr("! 1 KiB ring on shm: preempted: 0"));
  EXPECT_THAT(text, HasSubstr("! and 5 more"));  // seven of twelve beside the first
  EXPECT_THAT(text, Not(HasSubstr("preempted: 7")));
}

TEST(TableReporterTest, ShowsTheBoundAndThePercentageOfIt) {
  Record record = scripted_record("ring", 8, {1 << 20}, 100'000);
  record.bound = Bound{Seconds{80e-6}, "memory"};
  const std::string row = rows_of(table({record}))[0];
  EXPECT_THAT(row, HasSubstr("80.00"));
  EXPECT_THAT(row, HasSubstr("   80 "));
}

TEST(TableReporterTest, AlignsEveryRowWithItsHeadings) {
  const std::string text = table({scripted_record("ring", 2, {4}, 310),
                                  scripted_record("double-tree", 64, {1 << 30}, 2'000'000'000)},
                                 TableStyle{false, true, true});
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 4U);
  // Columns end where they end in every line; "±" and "µ" take two bytes and one column.
  EXPECT_EQ(lines[0].size(), lines[2].size() + 1);
  EXPECT_EQ(lines[2].size(), lines[3].size());
}

TEST(TableReporterTest, LeavesOutColumnsThatDoNotVary) {
  const std::string one = table({scripted_record("ring", 8, {1024}, 5000)});
  EXPECT_THAT(one, Not(HasSubstr("workers  ")));
  EXPECT_THAT(one, HasSubstr("algo=ring"));
  const std::string two =
      table({scripted_record("ring", 2, {1024}, 5000), scripted_record("tree", 8, {1024}, 5000)});
  EXPECT_THAT(two, HasSubstr("#algorithm  workers"));
  EXPECT_THAT(two, HasSubstr("algo=ring,tree"));
}

TEST(TableReporterTest, SaysWhatElseWasAskedFor) {
  Record record = scripted_record("ring", 4, {1024}, 5000);
  record.point.groups = "0,2;1,3";
  record.point.checksum = true;
  EXPECT_THAT(table({record}), HasSubstr("groups=0,2;1,3  checksum=yes"));
  Record other = record;
  other.point.groups = "0,1;2,3";
  const std::string both = table({record, other});
  EXPECT_THAT(both, HasSubstr("#groups"));
  EXPECT_THAT(rows_of(both)[1], HasSubstr("0,1;2,3"));
  EXPECT_THAT(both, HasSubstr("  checksum=yes"));
}

// Order statistics of fewer than six samples enclose the median with less than 95 %.
TEST(TableReporterTest, ShowsNoIntervalOfAFewSamples) {
  Record record = scripted_record("ring", 4, {1024}, 5000);
  const auto interval = [&](std::size_t samples) {
    record.measurement.latency_ns.resize(samples, 5000);
    return rows_of(table({record}, {.quiet = true, .columns = {"ci"}})).at(0);
  };
  EXPECT_THAT(interval(6), HasSubstr("0.0"));
  EXPECT_THAT(interval(5), HasSubstr("-"));
}

Record simulated_record(int workers) {
  Record record = scripted_record("ring", workers, {1024}, 1000);
  record.point.backend = "sim";
  record.point.simulated.topology = "dgx-h100";
  record.measurement.wrong = -1;
  record.measurement.exact.emplace().time = Seconds{1e-6};
  return record;
}

TEST(TableReporterTest, MeasuredCasesBesideSimulatedOnesAreNotCalledSimulated) {
  Record real = scripted_record("ring", 2, {1024}, 100'000);
  real.measurement.wrong = -1;
  for (const auto& records :
       {std::vector{real, simulated_record(8)}, std::vector{simulated_record(8), real}}) {
    const std::string text = table(records);
    EXPECT_THAT(text,
                HasSubstr("results not checked. best busbw 0.0102 GB/s at 1 KiB with ring, 2"));
    EXPECT_THAT(text, HasSubstr("backend="));
    EXPECT_THAT(text, Not(HasSubstr("take turns")));
  }
  EXPECT_THAT(table({simulated_record(8)}), HasSubstr("simulated times, equal on every machine"));
}

TEST(TableReporterTest, AWrongResultIsNotTheBest) {
  Record wrong = scripted_record("direct", 2, {1 << 20}, 1000);
  wrong.measurement.wrong = 5;
  const std::string text = table({wrong, scripted_record("ring", 2, {1 << 20}, 100'000)});
  EXPECT_THAT(text, HasSubstr("best busbw 10.5 GB/s at 1 MiB"));
}

TEST(TableReporterTest, SaysWhenWorkersOutnumberCores) {
  EXPECT_THAT(table({scripted_record("ring", 8, {1024}, 5000)}), HasSubstr("8 workers on 4 cores"));
  EXPECT_THAT(table({scripted_record("ring", 4, {1024}, 5000)}), Not(HasSubstr("# note")));
}

TEST(TableReporterTest, SaysWhatAutoChoseAndIfAskedWhyOnce) {
  Record record = scripted_record("auto", 8, {1024}, 5000);
  record.algorithm_chosen = "direct";
  record.choice_reason = "shared memory";
  const std::string reason = "auto on shm for 8 workers is direct: shared memory";
  const std::string silent = table({record, record});
  EXPECT_THAT(rows_of(silent)[0], HasSubstr("auto: direct"));
  EXPECT_THAT(silent, Not(HasSubstr(reason)));
  const std::string text = table({record, record}, {.reasons = true});
  EXPECT_THAT(text, HasSubstr(reason));
  EXPECT_EQ(text.find(reason), text.rfind(reason));
}

TEST(TableReporterTest, AChoiceThatIsWiderThanItsColumnTakesTheBlanksBehindIt) {
  Record wide = scripted_record("auto", 8, {1024}, 5000);
  Record narrow = wide;
  wide.algorithm_chosen = "ring:channels=8:node=8";
  narrow.algorithm_chosen = "direct";
  const std::vector<std::string> rows = rows_of(table({narrow, wide}));
  ASSERT_THAT(rows[1], HasSubstr(" auto: ring:channels=8:node=8 "));
  EXPECT_EQ(rows[0].size(), rows[1].size());
  EXPECT_EQ(rows[0].find("5.000"), rows[1].find("5.000"));
  wide.point.simulated.topology = "cluster:4xdgx-h100";
  wide.algorithm_chosen = "synth:topo=cluster:4xdgx-h100";
  EXPECT_THAT(rows_of(table({wide}))[0], HasSubstr(" auto: synth  "));
}

Record placed_record(const std::string& algorithm, const std::string& backend, Bytes bytes,
                     std::int64_t latency_ns) {
  Record record = scripted_record(algorithm, 2, bytes, latency_ns);
  record.point.backend = backend;
  return record;
}

TEST(TableReporterTest, BackEndsOfOneRunStandInOneTable) {
  const std::string text = table({placed_record("ring", "shm", {1024}, 1000),
                                  placed_record("ring", "grpc", {1024}, 50'000),
                                  placed_record("gloo", "gloo", {1024}, 20'000)});
  EXPECT_THAT(text, HasSubstr("#algorithm  backend"));
  const auto rows = rows_of(text);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows[1], testing::StartsWith(" ring       grpc"));
  EXPECT_THAT(lines_of(text).back(),
              HasSubstr("at 1 KiB: ring@shm is 20.0 times faster than gloo, 50.0 times faster than "
                        "ring@grpc"));
}

TEST(TableReporterTest, FitsAHundredColumns) {
  Record longest = placed_record("auto", "shm", {1 << 30}, 2'000'000'000);
  longest.algorithm_chosen = "recursive-doubling";
  longest.choice_reason = std::string(60, 'x') + " " + std::string(60, 'y');
  longest.point.isolate = true;
  longest.point.in_place = false;
  longest.measurement.warnings = {"foreign load: 38 % of the time", std::string(90, 'w')};
  std::vector<Record> records = {longest};
  for (const char* name : {"ring", "double-tree", "halving-doubling", "reduce-broadcast"}) {
    records.push_back(placed_record(name, "grpc", {1 << 30}, 1'000'000'000));
    records.push_back(scripted_record(name, 64, {1024}, 5000));
  }
  Record skipped = placed_record("mpi", "mpi", {1024}, 1);
  skipped.measurement = {};
  skipped.skipped = "back end 'mpi' is not usable: this build has no MPI, install its package";
  records.push_back(skipped);
  const std::string text = table(records, {.reasons = true});
  EXPECT_THAT(text, HasSubstr("# skipped: back end 'mpi' is not usable"));
  const auto lines = lines_of(text);
  for (const std::string& line : lines) EXPECT_LE(characters(line), 100U) << line;
  EXPECT_THAT(lines[0], HasSubstr("algo=auto,ring"));
  // Nothing is left out of what its user asked for.
  const auto all = lines_of(table({longest}, {.quiet = true, .columns = column_names()}));
  EXPECT_GT(characters(all[0]), 200U);
}

TEST(TableReporterTest, NeverCallsAWrongResultCorrect) {
  Record record = scripted_record("ring", 2, {1024}, 5000);
  record.measurement.wrong = 17;
  RunSummary summary;
  summary.measured = 1;
  summary.wrong = 1;
  const std::string text = table({record}, {}, summary);
  EXPECT_THAT(text, HasSubstr("17"));
  EXPECT_THAT(text, HasSubstr("1 WRONG"));
  EXPECT_THAT(text, Not(HasSubstr("correct")));
}

TEST(TableReporterTest, SaysThatResultsWereNotChecked) {
  Record record = scripted_record("ring", 2, {1024}, 5000);
  record.measurement.wrong = -1;
  EXPECT_THAT(table({record}), HasSubstr("results not checked"));
}

TEST(TableReporterTest, SaysWhenReplicasDiffer) {
  Record record = scripted_record("ring", 2, {1024}, 5000);
  record.measurement.replicas_identical = false;
  EXPECT_THAT(rows_of(table({record}))[0], HasSubstr("differ"));
}

TEST(TableReporterTest, ShowsTheReasonOfASkippedCase) {
  Record record = scripted_record("mpi", 2, {1024}, 5000);
  record.measurement = {};
  record.skipped = "no Open MPI here";
  const TableStyle narrow{.columns = {"size", "p50"}};
  EXPECT_THAT(rows_of(table({record}, narrow))[0], HasSubstr("-  skipped: no Open MPI here"));
  EXPECT_THAT(table({record}), HasSubstr("\n# skipped: no Open MPI here\n"));  // no room in the row
}

TEST(TableReporterTest, MarksDisturbedRowsAndSaysWhatDisturbedThem) {
  Record record = scripted_record("ring", 2, {1024}, 5000);
  record.measurement.warnings = {"foreign load: 38 %"};
  const std::string text = table({record});
  EXPECT_EQ(rows_of(text)[0].back(), '!');
  EXPECT_THAT(text, HasSubstr("# ! 1 KiB ring on shm: foreign load: 38 %"));
}

TEST(TableReporterTest, SaysWhatEndedARunEarly) {
  RunSummary summary;
  summary.planned = 9;
  summary.measured = 2;
  summary.stopped_by = "SIGINT";
  EXPECT_THAT(table({scripted_record("ring", 2, {1024}, 5000)}, {}, summary),
              HasSubstr("ended early after 2 of 9 cases: SIGINT"));
}

TEST(TableReporterTest, UsesOnlyAsciiAndNoColourUnlessTold) {
  const std::string text = table({scripted_record("ring", 2, {1024}, 5000)});
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || c >= ' '; }));
}

TEST(SignificantTest, KeepsFourDigitsInPlainNotation) {
  EXPECT_EQ(significant(0.0251234), "0.02512");
  EXPECT_EQ(significant(402.61), "402.6");
  EXPECT_EQ(significant(12345.6), "12346");
  EXPECT_EQ(significant(0), "0");
  EXPECT_EQ(significant(1e-12), "0.000000");
}

}  // namespace
}  // namespace collbench

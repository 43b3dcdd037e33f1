// The formats for programs: CSV and Google Benchmark's JSON. The JSON of records has its own tests.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"

#include "bench/records/record_file.h"
#include "bench/records/report.h"
#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

/// Splits a line of RFC 4180 into its fields.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        out.back() += line[++i];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += line[i];
    }
  }
  return out;
}

std::vector<std::vector<std::string>> csv(const std::vector<Record>& records, bool raw_samples) {
  std::ostringstream text;
  play(*reporter_of("csv", text, {.raw_samples = raw_samples}), records, {});
  std::vector<std::vector<std::string>> rows;
  std::istringstream in(text.str());
  for (std::string line; std::getline(in, line);) rows.push_back(fields(line));
  return rows;
}

std::string column(const std::vector<std::vector<std::string>>& rows, std::size_t row,
                   const std::string& name) {
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    if (rows[0][i] == name) return rows[row][i];
  }
  ADD_FAILURE() << "no column " << name;
  return "";
}

TEST(CsvReporterTest, HasColumnsForWhatElseWasAskedForOfACase) {
  Record asked = scripted_record("ring", 4, {4096}, 5000);
  asked.point.groups = "0,2;1,3";
  asked.point.checksum = true;
  asked.point.inject = "drop:rank=1,late:rank=0:time=1ms";
  for (const bool raw_samples : {false, true}) {
    const auto rows = csv({scripted_record("ring", 4, {4096}, 5000), asked}, raw_samples);
    EXPECT_THAT(rows, Each(SizeIs(rows[0].size())));
    EXPECT_EQ(column(rows, 1, "groups"), "");
    EXPECT_EQ(column(rows, rows.size() - 1, "groups"), "0,2;1,3");
    EXPECT_EQ(column(rows, 1, "checksum"), "false");
    EXPECT_EQ(column(rows, rows.size() - 1, "checksum"), "true");
    EXPECT_EQ(column(rows, rows.size() - 1, "inject"), asked.point.inject);
    EXPECT_EQ(std::ranges::count(rows[0], "counts"), 0);
  }
}

TEST(CsvReporterTest, ALibraryMayHaveCommasInItsName) {
  Record record = scripted_record("ring", 4, {4096}, 5000);
  record.point.backend = "Open MPI, tuned";
  record.point.transport = "=1+1";
  for (const bool raw_samples : {false, true}) {
    const auto rows = csv({record}, raw_samples);
    EXPECT_THAT(rows, Each(SizeIs(rows[0].size())));
    EXPECT_EQ(column(rows, 1, "backend"), "Open MPI, tuned");
    EXPECT_EQ(column(rows, 1, "transport"), "'=1+1");
  }
}

TEST(CsvReporterTest, GivesEveryRowTheColumnsOfTheHeading) {
  Record skipped = scripted_record("mpi", 2, {1024}, 1);
  skipped.measurement = {};
  skipped.skipped = "not here, \"mpirun\" is missing";
  const auto rows = csv({scripted_record("ring", 8, {1 << 20}, 100'000), skipped}, false);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows, Each(SizeIs(rows[0].size())));
  EXPECT_EQ(column(rows, 1, "algorithm"), "ring");
  EXPECT_EQ(column(rows, 1, "median_us"), "100.000");
  EXPECT_EQ(column(rows, 1, "busbw_GBps"), "18.3501");
  EXPECT_EQ(column(rows, 1, "wrong"), "0");
  EXPECT_EQ(column(rows, 2, "median_us"), "");
  EXPECT_EQ(column(rows, 2, "n"), "0");
  EXPECT_EQ(column(rows, 2, "skipped"), "not here, \"mpirun\" is missing");
}

TEST(CsvReporterTest, ACellThatASpreadsheetWouldComputeIsText) {
  Record skipped = scripted_record("mpi", 2, {1024}, 1);
  skipped.measurement = {};
  skipped.skipped = "=1+1";
  EXPECT_EQ(column(csv({skipped}, false), 1, "skipped"), "'=1+1");
}

TEST(CsvReporterTest, HasOneRowPerSampleWhenAsked) {
  const auto rows = csv({scripted_record("ring", 8, {1 << 20}, 100'000)}, true);
  ASSERT_EQ(rows.size(), 21U);
  EXPECT_THAT(rows, Each(SizeIs(rows[0].size())));
  EXPECT_EQ(column(rows, 20, "sample"), "19");
  EXPECT_EQ(column(rows, 20, "latency_us"), "100.000");
  EXPECT_EQ(column(rows, 20, "skew_us"), "0.010");
}

TEST(CsvReporterTest, FiguresOfShortTimesKeepTheirDigits) {
  Record record = scripted_record("sort", 1, {1024}, 5500);
  record.point.calls = 1000;
  EXPECT_EQ(column(csv({record}, false), 1, "median_us"), "0.0055");
  EXPECT_EQ(column(csv({record}, true), 1, "latency_us"), "0.0055");
}

TEST(CsvReporterTest, FewIterationsHaveNoInterval) {
  Record record = scripted_record("ring", 2, {1024}, 5000);
  record.measurement.latency_ns.resize(5);
  EXPECT_EQ(column(csv({record}, false), 1, "interval_low_us"), "");
  record.measurement.latency_ns.resize(6, 5000);
  EXPECT_EQ(column(csv({record}, false), 1, "interval_low_us"), "5.000");
}

TEST(CsvReporterTest, SimulatedCasesSayHowTheyDifferAlsoBesideMeasuredOnes) {
  Record simulated = scripted_record("ring", 4, {4096}, 5000);
  simulated.point.backend = "sim";
  simulated.point.simulated.topology = "star:4,10Gbps";
  simulated.measurement.latency_ns.resize(1);
  simulated.measurement.exact = Exact{.time = Seconds{5e-6}, .engine = "fluid"};
  Record disturbed = simulated;
  disturbed.point.simulated.topology = "star:4,1Gbps";
  disturbed.point.simulated.jitter = Seconds{5e-6};
  disturbed.point.simulated.equal_chunks = true;
  for (const bool raw_samples : {false, true}) {
    const auto rows =
        csv({simulated, disturbed, scripted_record("ring", 4, {4096}, 5000)}, raw_samples);
    EXPECT_THAT(rows, Each(SizeIs(rows[0].size())));
    EXPECT_EQ(column(rows, 1, "topology"), "star:4,10Gbps");
    EXPECT_EQ(column(rows, 2, "topology"), "star:4,1Gbps");
    EXPECT_EQ(column(rows, 3, "topology"), "");
    EXPECT_EQ(column(rows, 1, "jitter_us"), "0");
    EXPECT_EQ(column(rows, 2, "jitter_us"), "5");
    EXPECT_EQ(column(rows, 3, "jitter_us"), "");
    EXPECT_EQ(column(rows, 2, "equal_chunks"), "true");
    EXPECT_EQ(std::ranges::count(rows[0], "stragglers"), 0);
  }
}

nlohmann::json gbench(const std::vector<Record>& records) {
  std::ostringstream text;
  play(*reporter_of("gbench", text), records, {});
  return parse_json<nlohmann::json>(text.str());
}

TEST(GbenchReporterTest, HasWhatComparePyReads) {
  const auto document = gbench({scripted_record("ring", 8, {1 << 20}, 100'000)});
  EXPECT_EQ(document["context"]["num_cpus"], 4);
  ASSERT_EQ(document["benchmarks"].size(), 1U);
  const auto& entry = document["benchmarks"][0];
  EXPECT_EQ(entry["name"], "ring/shm/workers:8/1048576/f32/sum");
  EXPECT_EQ(entry["run_type"], "iteration");
  EXPECT_EQ(entry["real_time"], 100.0);
  EXPECT_EQ(entry["cpu_time"], 100.0);
  EXPECT_EQ(entry["time_unit"], "us");
  EXPECT_EQ(entry["iterations"], 20);
}

TEST(GbenchReporterTest, LeavesOutSkippedCasesAndFlagsWrongOnes) {
  Record skipped = scripted_record("mpi", 2, {1024}, 1);
  skipped.measurement = {};
  skipped.skipped = "not here";
  Record wrong = scripted_record("ring", 2, {0}, 0);
  wrong.measurement.wrong = 1;
  const auto document = gbench({skipped, wrong});
  ASSERT_EQ(document["benchmarks"].size(), 1U);
  EXPECT_EQ(document["benchmarks"][0]["error_occurred"], true);
  EXPECT_TRUE(document["benchmarks"][0]["bytes_per_second"].is_number());
}

TEST(JsonFileReporterTest, KeepsEveryRecordThatWasMadeBeforeTheEnd) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("collbench_report_" + std::to_string(getpid()) + ".json");
  const Record record = scripted_record("ring", 2, {1024}, 5000);
  const auto reporter = json_file_reporter(path.string());
  reporter->begin(scripted_environment(), {record.point, record.point});
  reporter->record(record);
  const RecordFile early = read_records(path.string());
  EXPECT_THAT(early.records, SizeIs(1));
  reporter->record(record);
  reporter->end({});
  EXPECT_THAT(read_records(path.string()).records, SizeIs(2));
  std::ifstream file(path);
  EXPECT_TRUE(nlohmann::json::accept(file));
  std::filesystem::remove(path);
}

TEST(CaseNameTest, TellsApartCasesThatDiffer) {
  Case one;
  one.algorithm = "ring";
  one.backend = "grpc";
  one.bytes = {1024};
  one.transport = "raw";
  EXPECT_EQ(case_name(one), "ring/grpc/workers:2/1024/f32/sum");
  Case other = one;
  other.transport = "tf-recvbuf";
  other.in_place = false;
  EXPECT_EQ(case_name(other), "ring/grpc.tf-recvbuf/workers:2/1024/f32/sum/out-of-place");
}

TEST(OpenMetricsReporterTest, DescribesFiguresOfAnyCollective) {
  Record record = scripted_record("ring", 4, {4096}, 5000);
  record.point.collective = CollectiveKind::reduce_scatter;
  std::ostringstream text;
  play(*reporter_of("openmetrics", text), {record}, {});
  EXPECT_THAT(text.str(), HasSubstr("# HELP collbench_latency_seconds Time of one collective.\n"));
  EXPECT_THAT(text.str(), HasSubstr("(N-1)/N for a reduce-scatter"));
}

TEST(OpenMetricsReporterTest, AMeanAndResultsThatDifferBetweenRanksAreFigures) {
  Record record = scripted_record("ring", 4, {4096}, 5000);
  record.point.statistic = "mean";
  record.measurement.latency_ns.resize(1);
  record.measurement.replicas_identical = false;
  std::ostringstream text;
  play(*reporter_of("openmetrics", text), {record}, {});
  EXPECT_THAT(text.str(), HasSubstr("stat=\"mean\"} 5e-06\n"));
  EXPECT_THAT(text.str(), testing::ContainsRegex("collbench_wrong_elements[{].*[}] 1\n"));
}

TEST(RecordNamesTest, CasesThatDifferInWhatTheNameDoesNotSayAreToldApart) {
  const Record hot = scripted_record("ring", 4, {4096}, 5000);
  Record cold = hot;
  cold.point.buffers = Buffers::cold;
  const std::vector<Record> records = {hot, cold, hot};
  const auto document = gbench(records);
  EXPECT_THAT(document["benchmarks"][1]["name"].get<std::string>(),
              testing::EndsWith("/buffers:cold"));
  EXPECT_EQ(document["benchmarks"][1]["repetition_index"], 0);
  EXPECT_EQ(document["benchmarks"][2]["repetition_index"], 1);
  for (const char* format : {"openmetrics", "junit"}) {
    std::ostringstream text;
    play(*reporter_of(format, text), records, {});
    EXPECT_THAT(text.str(), HasSubstr("/buffers:cold\"")) << format;
    EXPECT_THAT(text.str(), HasSubstr("/buffers:produced\"")) << format;
  }
}

TEST(JunitReporterTest, TestsOfOneCaseHaveNamesOfTheirOwn) {
  const Record record = scripted_record("ring", 2, {1024}, 5000);
  std::ostringstream text;
  play(*reporter_of("junit", text), {record, record, record}, {});
  EXPECT_THAT(text.str(), HasSubstr(" (2)\" time="));
  EXPECT_THAT(text.str(), HasSubstr(" (3)\" time="));
}

TEST(JsonFileReporterTest, TwoProcessesDoNotFillOneFile) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("collbench_shared_" + std::to_string(getpid()) + ".json");
  const Record record = scripted_record("ring", 2, {1024}, 5000);
  const auto first = json_file_reporter(path.string());
  first->begin(scripted_environment(), {record.point});
  first->record(record);
  EXPECT_THROW(json_file_reporter(path.string())->begin(scripted_environment(), {record.point}),
               Unavailable);
  first->end({});
  EXPECT_THAT(read_records(path.string()).records, SizeIs(1));
  const auto second = json_file_reporter(path.string());
  second->begin(scripted_environment(), {record.point});
  second->end({});
  EXPECT_THAT(read_records(path.string()).records, SizeIs(0));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace collbench

#include "bench/records/record_json.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bench/records/record_file.h"
#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

Record full_record() {
  Record record;
  record.point.algorithm = "auto";
  record.point.backend = "shm";
  record.point.workers = 4;
  record.point.bytes = Bytes{4096};
  record.point.type = DataType::bf16;
  record.point.op = ReduceOp::avg;
  record.point.in_place = false;
  record.point.buffers = Buffers::cold;
  record.point.isolate = true;
  record.point.private_buffers = true;
  record.point.checksum = true;
  record.point.inject = "drop:rank=1";
  record.algorithm_chosen = "direct";
  record.choice_reason = "because \"it\" is fastest";
  record.started = "2026-01-02T03:04:05Z";
  record.measurement.latency_ns = {5, 4, 6};
  record.measurement.skew_ns = {1, 0, 2};
  record.measurement.back_to_back_ns = {3, 3};
  record.measurement.wrong = 0;
  record.measurement.replicas_identical = false;
  record.measurement.played = "direct (fused)";
  record.measurement.warnings = {"foreign load: 38 %"};
  record.bound = Bound{Seconds{2.5e-9}, "memory"};
  return record;
}

Record skipped_record() {
  Record record;
  record.point.algorithm = "gloo";
  record.point.backend = "gloo";
  record.point.transport = "";
  record.skipped = "Gloo has no bf16";
  return record;
}

// A folder that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "/collbench-records-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

TEST(RecordJsonTest, ReadsBackEverythingItWrites) {
  for (const Record& record : {full_record(), skipped_record()}) {
    const Record back = record_from_json(to_json(record));
    EXPECT_EQ(to_json(back), to_json(record));
    EXPECT_EQ(back.point.private_buffers, record.point.private_buffers);
    EXPECT_EQ(back.point.checksum, record.point.checksum);
    EXPECT_EQ(back.point.inject, record.point.inject);
    EXPECT_EQ(back.measurement.latency_ns, record.measurement.latency_ns);
    EXPECT_EQ(back.measurement.wrong, record.measurement.wrong);
    EXPECT_EQ(back.skipped, record.skipped);
  }
}

TEST(RecordJsonTest, TimesOfRanksAreThereForEveryIterationAndRankOrNotAtAll) {
  Record record = full_record();
  EXPECT_EQ(to_json(record).find("rank_time_ns"), std::string::npos);
  record.measurement.rank_time_ns.assign(3 * 4, 7);
  EXPECT_EQ(record_from_json(to_json(record)).measurement.rank_time_ns.size(), 12U);
  record.measurement.rank_time_ns.pop_back();
  try {
    record_from_json(to_json(record));
    FAIL() << "was read";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("11 times of ranks for 3 iterations of 4 ranks"));
  }
}

TEST(RecordJsonTest, UnknownValuesAreNullAndNeverNaN) {
  Record record = skipped_record();
  record.bound = Bound{Seconds{std::numeric_limits<double>::quiet_NaN()}, "unknown"};
  const Json value = parse_json<Json>(to_json(record));
  EXPECT_TRUE(value.at("wrong_elements").is_null());
  EXPECT_TRUE(value.at("summary").is_null());
  EXPECT_TRUE(value.at("bound").at("time_ns").is_null());
  Record instant = full_record();
  instant.measurement.latency_ns = {0, 0};
  EXPECT_TRUE(parse_json<Json>(to_json(instant)).at("summary").at("busbw_GBps").is_null());
}

TEST(RecordJsonTest, SummaryStandsBesideTheSamples) {
  const Json summary = parse_json<Json>(to_json(full_record())).at("summary");
  EXPECT_EQ(summary.at("samples"), 3);
  EXPECT_EQ(summary.at("median_ns"), 5.0);
  EXPECT_DOUBLE_EQ(summary.at("algbw_GBps").get<double>(), 4096 / 5.0);
  EXPECT_DOUBLE_EQ(summary.at("busbw_GBps").get<double>(), 4096 / 5.0 * 1.5);
}

TEST(RecordJsonTest, ADamagedEnvironmentIsRefused) {
  const Environment environment = {{"host", "a"}, {"revision", "0123abcd"}};
  const std::string line = environment_line(environment) + "\n";
  const std::string file = records_json(environment, {});
  EXPECT_EQ(records_from_json(line).environment, environment);
  EXPECT_EQ(records_from_json(file).environment, environment);
  for (const std::string& text : {line, file}) {
    for (const std::string part : {"host", "revision", "0123abcd"}) {
      std::string damaged = text;
      damaged[text.find(part)] ^= 1;
      try {
        records_from_json(damaged);
        ADD_FAILURE() << damaged << " was read";
      } catch (const InvalidArgument& error) {
        EXPECT_THAT(error.what(), HasSubstr("it does not fit its checksum")) << part;
      }
    }
  }
}

TEST(RecordJsonTest, NumbersThatAreNotWholeOrOutOfRangeAreRefused) {
  Record record = full_record();
  record.measurement.exact.emplace();
  const std::string sound = to_json(record);
  const auto refusal = [&](const std::string& key, const Json& value) -> std::string {
    Json changed = parse_json<Json>(sound);
    changed.erase("crc32c");
    const bool of_case = changed["case"].contains(key);
    (key == "time_s" ? changed["exact"] : of_case ? changed["case"] : changed)[key] = value;
    try {
      record_from_json(changed.dump());
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("latency_ns", {5, 1.5}), HasSubstr("1.5 is no whole number in range"));
  EXPECT_THAT(refusal("skew_ns", {1e30, 5}), HasSubstr("1e+30 is no whole number in range"));
  EXPECT_THAT(refusal("workers", 5'000'000'000), HasSubstr("5000000000 is no whole number"));
  EXPECT_THAT(refusal("latency_ns", "5"), HasSubstr("a list of whole numbers is a string"));
  EXPECT_THAT(refusal("latency_ns", {5, -6}), HasSubstr("a latency of -6 ns; 0 or more"));
  EXPECT_NE(refusal("workers", -1), "");
  EXPECT_THAT(refusal("workers", 2'000'000'000), HasSubstr("workers is 2000000000; at most"));
  EXPECT_THAT(refusal("size_bytes", -4096), HasSubstr("size_bytes is -4096; 0 or more"));
  EXPECT_THAT(refusal("time_s", -1), HasSubstr("exact time_s is -1; 0 or more"));
  EXPECT_EQ(refusal("latency_ns", {5, 6}), "");
}

TEST(RecordJsonTest, ARecordOfAnyDepthIsRefusedAndNotFollowed) {
  const int depth = 200'000;
  const std::string nest = std::string(depth, '[') + std::string(depth, ']');
  EXPECT_THROW(
      records_from_json("{\"schema_version\":1,\"environment\":{}}\n{\"case\":" + nest + "}\n"),
      InvalidArgument);
}

TEST(RecordJsonTest, ForeignTextIsRefusedWithAReason) {
  EXPECT_THROW(record_from_json("{}"), InvalidArgument);
  EXPECT_THROW(record_from_json("nonsense"), InvalidArgument);
  EXPECT_THROW(records_from_json(""), InvalidArgument);
  try {
    records_from_json(R"({"schema_version": 7, "environment": {}, "records": []})");
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("schema version 7; this collbench reads 1"));
  }
}

TEST(RecordFileTest, SingleObjectReplacesTheFileAndLeavesNoOther) {
  const TemporaryFolder folder;
  const std::string path = folder.file("out.json");
  write_records(path, {{{"host", "a"}}, {skipped_record()}});
  write_records(path, {{{"host", "b"}}, {full_record(), skipped_record()}});
  const RecordFile back = read_records(path);
  EXPECT_EQ(back.environment.at("host"), "b");
  ASSERT_EQ(back.records.size(), 2U);
  EXPECT_EQ(back.records[0].point.algorithm, "auto");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(RecordFileTest, LinesAreReadableAfterEveryRecordEvenIfTheLastIsCutShort) {
  const TemporaryFolder folder;
  const std::string path = folder.file("out.jsonl");
  RecordLog log(path, {{"host", "a"}});
  EXPECT_TRUE(read_records(path).records.empty());
  log.append(full_record());
  EXPECT_EQ(read_records(path).records.size(), 1U);
  log.append(skipped_record());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 20);
  const RecordFile cut = read_records(path);
  ASSERT_EQ(cut.records.size(), 1U);
  EXPECT_EQ(to_json(cut.records[0]), to_json(full_record()));
}

TEST(RecordFileTest, LinesReplaceALinkAndLeaveWhatItPointsTo) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("precious")) << "data";
  std::filesystem::create_symlink(folder.file("precious"), folder.file("link.jsonl"));
  RecordLog log(folder.file("link.jsonl"), {{"host", "a"}});
  log.append(full_record());
  EXPECT_EQ(read_records(folder.file("link.jsonl")).records.size(), 1U);
  EXPECT_EQ(std::filesystem::file_size(folder.file("precious")), 4U);
  EXPECT_EQ(folder.files(), 2U);
}

TEST(RecordFileTest, PlacesThatCannotBeWrittenAreNamed) {
  EXPECT_THROW(write_records("/nonexistent/out.json", {}), Unavailable);
  EXPECT_THROW(RecordLog("/nonexistent/out.jsonl", {}), Unavailable);
  EXPECT_THROW(read_records("/nonexistent/out.json"), Unavailable);
}

TEST(RecordFileTest, AFullDiskIsAFailedRunAndNotAMissingFile) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  try {
    RecordLog("/dev/full", {{"host", "a"}});
    FAIL() << "nothing was said";
  } catch (const Unavailable& error) {
    FAIL() << "taken for a place that cannot be written: " << error.what();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("could not write '/dev/full': No space left"));
  }
}

// The independent reader: python3 with jsonschema where it is installed, else Python's strict
// parser and the names that the schema requires.
TEST(RecordFileTest, AnIndependentReaderFindsTheSchemaKept) {
  const TemporaryFolder folder;
  write_records(folder.file("out.json"), {{{"host", "a"}}, {full_record(), skipped_record()}});
  RecordLog log(folder.file("out.jsonl"), {{"host", "a"}});
  log.append(full_record());
  log.append(skipped_record());
  const std::string command = "python3 " COLLBENCH_SOURCE_DIR "/tests/bench/validate_records.py " +
                              std::string(COLLBENCH_SOURCE_DIR "/results/schema.json ") +
                              folder.file("out.json") + " " + folder.file("out.jsonl");
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ofstream(folder.file("bad.json"))
      << R"({"schema_version":1,"environment":{},"records":[{}]})";
  const std::string bad = "python3 " COLLBENCH_SOURCE_DIR "/tests/bench/validate_records.py " +
                          std::string(COLLBENCH_SOURCE_DIR "/results/schema.json ") +
                          folder.file("bad.json") + " 2>/dev/null";
  EXPECT_NE(std::system(bad.c_str()), 0);
}

}  // namespace
}  // namespace collbench

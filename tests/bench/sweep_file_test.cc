#include "bench/measure/sweep_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class SweepFileTest : public testing::Test {
 protected:
  SweepFileTest() {
    std::string pattern = testing::TempDir() + "/collbench-sweep-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    for (const char* name :
         {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
          "JOB_COMPLETION_INDEX", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}) {
      unsetenv(name);
    }
  }
  ~SweepFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  const std::string& folder() const { return folder_; }

  static Record record(int workers, double seconds) {
    Record record;
    record.point.algorithm = "ring";
    record.point.backend = "sim";
    record.point.workers = workers;
    record.point.simulated.topology = "star";
    record.measurement.exact.emplace();
    record.measurement.exact->time = Seconds{seconds};
    record.measurement.exact->engine = "fluid";
    record.measurement.latency_ns = {1};
    return record;
  }

  std::vector<std::string> notes_;

 private:
  std::string folder_;
};

TEST_F(SweepFileTest, IsTakenUpWhereItEndedEvenInTheMiddleOfALine) {
  const std::string name = path("out.jsonl");
  {
    SweepFile file(name, {{"host", "a"}}, false);
    file.append(record(2, 1e-6));
    file.append(record(4, 2e-6));
  }
  std::filesystem::resize_file(name, std::filesystem::file_size(name) - 10);
  {
    SweepFile again(name, {{"host", "a"}}, false);
    EXPECT_TRUE(again.has(record(2, 0).point));
    EXPECT_FALSE(again.has(record(4, 0).point));
    again.append(record(4, 2e-6));
    EXPECT_EQ(read_records(name).records.size(), 2U);
  }
  SweepFile fresh(name, {}, true);
  EXPECT_FALSE(fresh.has(record(2, 0).point));
}

TEST_F(SweepFileTest, TimesOfAMachineThatHasChangedAreNotTakenUp) {
  const std::string name = record(2, 0).point.simulated.topology;
  SweepFile(path("m"), {{machine_key(name), "1"}, {machine_key("other"), "5"}}, false)
      .append(record(2, 1e-6));
  {
    const SweepFile same(path("m"), {{machine_key(name), "1"}}, false);
    EXPECT_TRUE(same.has(record(2, 0).point));
    EXPECT_TRUE(same.changed_machines().empty());
  }
  SweepFile(path("old"), {{machine_key(name), "1"}}, false).append(record(2, 1e-6));
  {
    const SweepFile changed(path("m"), {{machine_key(name), "2"}}, false);
    EXPECT_FALSE(changed.has(record(2, 0).point));
    EXPECT_EQ(changed.changed_machines(), std::set<std::string>{name});
  }
  EXPECT_EQ(read_records(path("m")).environment.at(machine_key("other")), "5");
  EXPECT_THAT(
      [&] {
        merge_records({path("old"), path("m")}, notes_);
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("is another than that of the files before it")));
}

TEST_F(SweepFileTest, TheChecksumOfAMachineIsOfWhatDecidesItsTimes) {
  const auto write = [&](const char* rate) {
    std::ofstream(path("m.toml")) << "summary = \"x\"\nsource = \"x\"\n[link.a]\nbandwidth = \""
                                  << rate
                                  << "\"\nlatency = \"1 us\"\nsource = \"x\"\n[structure]\n"
                                     "kind = \"star\"\nlink = \"a\"\nsource = \"x\"\n";
    return checksum_of_machine(path("m.toml"));
  };
  const std::string slow = write("1 GBps");
  EXPECT_NE(slow, write("10 GBps"));
  EXPECT_EQ(slow, write("1000 MBps"));
  EXPECT_NE(checksum_of_machine("torus:8:ties=alternate,1GBps,1us"),
            checksum_of_machine("torus:8,1GBps,1us"));
}

TEST_F(SweepFileTest, RefusesAFileThatIsNoneOfItsOwn) {
  std::ofstream(path("other")) << "hello\n";
  EXPECT_THROW(SweepFile(path("other"), {}, false), InvalidArgument);
  EXPECT_THROW(SweepFile(path("no/such/folder"), {}, false), Unavailable);
}

TEST_F(SweepFileTest, MergeJoinsPartsAndRefusesDifferentTimes) {
  SweepFile(path("a"), {{"host", "a"}}, false).append(record(2, 1e-6));
  SweepFile b(path("b"), {{"host", "b"}}, false);
  b.append(record(2, 1e-6));
  b.append(record(4, 2e-6));
  const RecordFile merged = merge_records({path("a"), path("b")}, notes_);
  EXPECT_EQ(merged.records.size(), 2U);
  EXPECT_EQ(merged.environment.at("host"), "a; b");
  SweepFile(path("c"), {}, false).append(record(2, 3e-6));
  EXPECT_THAT(
      [&] {
        merge_records({path("a"), path("c")}, notes_);
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("must be equal")));
}

TEST_F(SweepFileTest, MergeTakesWhatIsOneRecordOnce) {
  RecordFile run;
  for (const char* started : {"2026-11-20T00:00:00Z", "2026-11-20T00:00:01Z", ""}) {
    Record measured = record(2, 0);
    measured.point.simulated = {};
    measured.measurement.exact.reset();
    measured.started = started;
    run.records.push_back(measured);
  }
  write_records(path("a"), run);
  std::filesystem::copy_file(path("a"), path("copy"));
  EXPECT_EQ(merge_records({path("a"), folder() + "/./a"}, notes_).records.size(), 3U);
  EXPECT_THAT(notes_, testing::ElementsAre(HasSubstr("/./a' is given twice: read once")));
  notes_.clear();
  // Another benchmark's table does not say when: equal figures may be of two runs.
  EXPECT_EQ(merge_records({path("a"), path("copy")}, notes_).records.size(), 4U);
  EXPECT_THAT(notes_, testing::ElementsAre(HasSubstr("2 measured records came twice")));
}

TEST_F(SweepFileTest, MergeSaysWhichPartsOfASweepAreMissing) {
  const std::vector<Case> all = {record(2, 0).point, record(4, 0).point, record(8, 0).point};
  const Shard shard{0, 12, "--shard"};
  const std::string key = part_key(shard, all);
  EXPECT_NE(key, part_key(shard, {all[0]}));
  std::vector<std::string> parts;
  for (int part = 0; part < 12; ++part) {
    parts.push_back(path(std::to_string(part)));
    SweepFile(parts.back(), {{key, std::to_string(part)}}, false).append(record(part + 2, 1e-6));
  }
  EXPECT_FALSE(merge_records(parts, notes_).environment.contains(key));
  EXPECT_THAT(notes_, testing::IsEmpty());
  const std::string eleventh = parts[11];
  parts.erase(parts.begin() + 11);
  parts.erase(parts.begin() + 1);
  write_records(path("some"), merge_records(parts, notes_));
  EXPECT_THAT(notes_, testing::ElementsAre(HasSubstr("part 1, 11 of a sweep in 12 is not among")));
  notes_.clear();
  merge_records({path("some"), eleventh}, notes_);
  EXPECT_THAT(notes_, testing::ElementsAre(HasSubstr("part 1 of a sweep in 12 is not among")));
}

TEST_F(SweepFileTest, ShardsComeFromTheFlagOrTheLauncher) {
  EXPECT_EQ(parse_shard("auto").count, 1);
  EXPECT_EQ(parse_shard("2/4").index, 2);
  for (const char* text : {"4/4", "x/4", "1/", "1", "-1/4", "1/0"}) {
    EXPECT_THROW(parse_shard(text), InvalidArgument) << text;
  }
  EXPECT_THROW(parse_shard("/4"), InvalidArgument);
  setenv("JOB_COMPLETION_INDEX", "3", 1);
  EXPECT_EQ(parse_shard("/4").index, 3);
  // Kubernetes does not say how many there are.
  EXPECT_THAT([] { parse_shard("auto"); }, ThrowsMessage<InvalidArgument>(HasSubstr("/N")));
  setenv("SLURM_ARRAY_TASK_ID", "5", 1);
  setenv("SLURM_ARRAY_TASK_MIN", "4", 1);
  setenv("SLURM_ARRAY_TASK_COUNT", "3", 1);
  const Shard shard = parse_shard("auto");
  EXPECT_EQ(shard.index, 1);
  EXPECT_EQ(shard.count, 3);
  EXPECT_EQ(shard.source, "Slurm array");
  EXPECT_EQ(shard_path("dir/out.jsonl", shard), "dir/out.1-of-3.jsonl");
  EXPECT_EQ(shard_path("dir/out.jsonl", Shard{}), "dir/out.jsonl");
}

}  // namespace
}  // namespace collbench

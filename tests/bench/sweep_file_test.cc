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
        merge_records({path("old"), path("m")});
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
  const RecordFile merged = merge_records({path("a"), path("b")});
  EXPECT_EQ(merged.records.size(), 2U);
  EXPECT_EQ(merged.environment.at("host"), "a; b");
  SweepFile(path("c"), {}, false).append(record(2, 3e-6));
  EXPECT_THAT(
      [&] {
        merge_records({path("a"), path("c")});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("must be equal")));
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

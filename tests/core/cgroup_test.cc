#include "core/cgroup.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::Optional;

class CgroupTest : public testing::Test {
 protected:
  ~CgroupTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::vector<std::string> folders(const std::string& controller,
                                   const std::string& process) const {
    write("process", process);
    return cgroup_folders(controller, root_, root_ + "/process");
  }

  const std::string root_ = testing::TempDir() + "collbench-cgroups";
};

TEST_F(CgroupTest, AreFoundOfBothVersionsUpToTheRoot) {
  EXPECT_THAT(folders("memory", "0::/job/step\n"),
              ElementsAre(root_ + "/job/step", root_ + "/job", root_, root_ + "/unified/job/step",
                          root_ + "/unified/job", root_ + "/unified"));
  EXPECT_THAT(folders("cpu", "4:memory:/\n2:cpu,cpuacct:/a:b/c\n1:name=systemd:/\nodd\n"),
              ElementsAre(root_ + "/cpu/a:b/c", root_ + "/cpu/a:b", root_ + "/cpu"));
}

TEST_F(CgroupTest, TheTightestLimitOnTheWayCountsWithoutWhatIsCached) {
  const std::vector<std::string> two = folders("memory", "0::/job/step\n");
  EXPECT_EQ(memory_left_in(two), std::nullopt);
  write("job/step/memory.max", "max\n");
  write("job/step/memory.current", "500\n");
  EXPECT_EQ(memory_left_in(two), std::nullopt);
  write("job/memory.max", "1000\n");
  write("job/memory.current", "900\n");
  EXPECT_THAT(memory_left_in(two), Optional(100));
  write("job/memory.stat", "anon 200\ninactive_file 650\nactive_file 50\n");
  EXPECT_THAT(memory_left_in(two), Optional(750));
  write("job/memory.current", "5000\n");
  EXPECT_THAT(memory_left_in(two), Optional(0));

  const std::vector<std::string> one = folders("memory", "4:memory:/of/the/host\n");
  write("memory/memory.limit_in_bytes", "4096\n");  // as a container sees its own
  write("memory/memory.usage_in_bytes", "4000\n");
  write("memory/memory.stat", "inactive_file 1\ntotal_inactive_file 1000\n");
  EXPECT_THAT(memory_left_in(one), Optional(1096));
}

TEST_F(CgroupTest, TheTightestQuotaOnTheWayCounts) {
  const std::vector<std::string> two = folders("cpu", "0::/job/step\n");
  write("job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(processors_allowed_in(two), std::nullopt);
  write("job/step/cpu.max", "400000 100000\n");
  write("job/cpu.max", "150000 100000\n");
  EXPECT_THAT(processors_allowed_in(two), Optional(1.5));

  const std::vector<std::string> one = folders("cpu", "2:cpu,cpuacct:/job\n");
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(processors_allowed_in(one), std::nullopt);
  write("cpu/job/cpu.cfs_quota_us", "50000\n");
  write("cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_THAT(processors_allowed_in(one), Optional(0.5));
}

}  // namespace
}  // namespace collbench

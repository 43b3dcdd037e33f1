#include "topologies/local_machine.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "topologies/draw/draw.h"
#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A tree of files as /sys and /proc have them.
class LocalMachineTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  void write_cpu(int cpu, int package, int core, const std::string& cache) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu);
    write(folder + "/topology/physical_package_id", std::to_string(package));
    write(folder + "/topology/core_id", std::to_string(core));
    write(folder + "/cache/index0/level", "1");
    write(folder + "/cache/index0/shared_cpu_list", std::to_string(cpu));
    if (cache.empty()) return;
    write(folder + "/cache/index3/level", "3");
    write(folder + "/cache/index3/shared_cpu_list", cache);
  }
  // Two sockets of two cores with two threads each.
  void write_two_sockets() {
    write("proc/cpuinfo",
          "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
          "model name\t: A CPU\n\nprocessor\t: 1\nmodel name\t: Another");
    write("sys/devices/system/node/online", "0-1");
    write("sys/devices/system/node/node0/cpulist", "0-1,4-5");
    write("sys/devices/system/node/node1/cpulist", "2-3,6-7");
    write("sys/devices/system/cpu/online", "0-7");
    for (int cpu = 0; cpu < 8; ++cpu) {
      const int socket = cpu % 4 / 2;
      write_cpu(cpu, socket, cpu % 2, socket == 0 ? "0-1,4-5" : "2-3,6-7");
    }
  }

  std::string root_ = testing::TempDir() + "local-machine-" + std::to_string(getpid());
};

TEST_F(LocalMachineTest, HasCoresCachesAndNodesAsTheKernelTells) {
  write_two_sockets();
  const LocalMachine local = read_local_machine(root_);
  EXPECT_EQ(local.cpu, "A CPU");
  EXPECT_EQ(local.vendor, "GenuineIntel");
  EXPECT_EQ(local.model, 143);
  EXPECT_THAT(local.nodes, ElementsAre(0, 1));
  ASSERT_EQ(local.cores.size(), 4U);
  EXPECT_THAT(local.cores[2].processors, ElementsAre(2, 6));
  EXPECT_EQ(local.cores[2].node, 1);
  EXPECT_EQ(local.cores[2].cache, 2);
}

TEST_F(LocalMachineTest, IsAMachineOfCoresWithoutGpus) {
  write_two_sockets();
  const Machine made = from_local_machine(read_local_machine(root_));
  EXPECT_EQ(made.topology.hosts(), 4);
  EXPECT_EQ(made.topology.vertices(), 4 + 2 + 2);  // cores, caches, NUMA nodes
  EXPECT_EQ(made.summary, "4 cores of 2 NUMA nodes, A CPU");
}

TEST_F(LocalMachineTest, NeedsNoNodesAndNoCaches) {
  write("sys/devices/system/cpu/online", "0-1");
  write_cpu(0, 0, 0, "");
  write_cpu(1, 0, 1, "");
  const Machine made = from_local_machine(read_local_machine(root_));
  EXPECT_EQ(made.topology.hosts(), 2);
}

TEST_F(LocalMachineTest, SaysSoWhereNothingIsDescribed) {
  try {
    read_local_machine(root_);
    FAIL();
  } catch (const Unavailable& error) {
    EXPECT_THAT(error.what(), HasSubstr("describes no processor"));
  }
}

TEST(ThisMachineTest, IsReadAndItsFileReadsBack) {
  const LocalMachine local = read_local_machine();
  ASSERT_FALSE(local.cores.empty());
  const Machine made = from_local_machine(local);
  EXPECT_EQ(made.topology.hosts(), static_cast<int>(local.cores.size()));
  const Machine back = import_topology(to_toml(made), "back.toml");
  EXPECT_EQ(back.topology.hosts(), made.topology.hosts());
  EXPECT_EQ(back.topology.links().size(), made.topology.links().size());
}

}  // namespace
}  // namespace collbench

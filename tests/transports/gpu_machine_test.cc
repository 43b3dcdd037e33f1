#include "bench/measure/gpu_machine.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

LocalMachine machine_with(const char* gpus) {
  ::setenv("COLLBENCH_NVML_LIBRARY", GPU_STAND_IN, 1);
  ::setenv("STAND_IN_MACHINE", gpus, 1);
  LocalMachine local;
  local.host = "stand-in";
  local.cpu = "a CPU";
  local.arch = "x86_64";
  local.vendor = "GenuineIntel";
  local.family = 6;
  local.model = 0x8F;
  local.nodes = {0, 1};
  local.gpus = local_gpus(survey_gpus());
  ::unsetenv("STAND_IN_MACHINE");
  ::unsetenv("COLLBENCH_NVML_LIBRARY");
  return local;
}

double lanes_named(const Topology& topology, const std::string& name) {
  double lanes = 0;
  for (const Link& link : topology.links()) {
    if (topology.classes()[static_cast<std::size_t>(link.link_class)].name == name) {
      lanes += link.lanes;
    }
  }
  return lanes;
}

TEST(GpuMachineTest, HasTheGpusNvlinksAndSocketsThatNvidiaSmiShows) {
  const LocalMachine local = machine_with("8xh100");
  const Topology ours = from_local_machine(local).topology;
  ::setenv("COLLBENCH_NVML_LIBRARY", GPU_STAND_IN, 1);
  const std::string matrix = topology_matrix(survey_gpus());
  ::unsetenv("COLLBENCH_NVML_LIBRARY");
  const Topology theirs = from_nvidia_smi(matrix, "matrix.txt").topology;
  EXPECT_EQ(ours.hosts(), theirs.hosts());
  EXPECT_EQ(ours.vertices(), theirs.vertices());  // two CPUs, one NVSwitch
  EXPECT_EQ(ours.links().size(), theirs.links().size());
  // 8 GPUs of 18 links, both ways; the matrix does not tell the generation.
  EXPECT_EQ(lanes_named(ours, "nvlink4"), 2 * 8 * 18);
  EXPECT_EQ(lanes_named(theirs, "nvlink"), 2 * 8 * 18);
  EXPECT_GT(lanes_named(ours, "pcie5 x16"), 0);
}

TEST(GpuMachineTest, JoinsPairsByTheirNvlinksAndOthersByPci) {
  const Topology pair = from_local_machine(machine_with("2xv100")).topology;
  EXPECT_EQ(pair.hosts(), 2);
  EXPECT_EQ(lanes_named(pair, "nvlink2"), 2 * 2);
  const Topology pci = from_local_machine(machine_with("4xa40")).topology;
  EXPECT_EQ(pci.hosts(), 4);
  EXPECT_EQ(pci.vertices(), 4 + 2 + 2);  // GPUs, CPUs, and a PCIe switch below each
}

TEST(GpuMachineTest, IsOneHostWhereThereIsOneGpu) {
  const Machine made = from_local_machine(machine_with("h200"));
  EXPECT_EQ(made.topology.hosts(), 1);
  EXPECT_EQ(made.summary, "1 GPU of 2 NUMA nodes, a CPU");
}

}  // namespace
}  // namespace collbench

// The matrix of nvidia-smi topo -m, back to the tree and the cables that it describes.
#include <fmt/format.h>

#include "tests/topologies/route_names.h"

#include "topologies/import/import_topology.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Half of a cube mesh, with the adapters that tell where the GPUs sit.
const char* const mesh =
    "$ nvidia-smi topo -m\n"
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\tmlx5_1\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
    "GPU0\t X \tNV1\tNV2\tSYS\tPIX\tSYS\t0-19\t0\n"
    "GPU1\tNV1\t X \tSYS\tNV2\tPIX\tSYS\t0-19\t0\n"
    "GPU2\tNV2\tSYS\t X \tNV1\tSYS\tPXB\t20-39\t1\n"
    "GPU3\tSYS\tNV2\tNV1\t X \tSYS\tPXB\t20-39\t1\n"
    "mlx5_0\tPIX\tPIX\tSYS\tSYS\t X \tSYS\t\t\n"
    "mlx5_1\tSYS\tSYS\tPXB\tPXB\tSYS\t X \t\t\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n";

Topology topology_of_matrix(const std::string& text) {
  return from_nvidia_smi(text, "topo.txt").topology;
}

std::string all_pairs(int gpus, const std::string& entry, const std::string& affinity = "") {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += fmt::format(" GPU{}", i);
  text += " CPU Affinity\n";
  for (int i = 0; i < gpus; ++i) {
    text += fmt::format("GPU{}", i);
    for (int j = 0; j < gpus; ++j) text += " " + (i == j ? "X" : entry);
    text += " " + affinity + "\n";
  }
  return text;
}

TEST(ImportNvidiaSmi, NvlinksAreCablesWithTheirCount) {
  const Topology topology = topology_of_matrix(mesh);
  EXPECT_EQ(topology.hosts(), 4);
  EXPECT_EQ(route_names(topology, 0, 2), "gpu 0 > gpu 2");
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 2), 40);
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 1), 20);
}

TEST(ImportNvidiaSmi, GpusWithoutADirectLinkUseTheirNeighbours) {
  EXPECT_EQ(route_names(topology_of_matrix(mesh), 0, 3), "gpu 0 > gpu 1 > gpu 3");
}

TEST(ImportNvidiaSmi, WithoutNvlinksTheWayLeadsOverSwitchesAndCpus) {
  const Topology same = topology_of_matrix(all_pairs(4, "PIX", "0-9"));
  EXPECT_EQ(route_names(same, 0, 3), "gpu 0 > pci switch 0 > gpu 3");
  const Topology cpu = topology_of_matrix(all_pairs(4, "PHB"));
  EXPECT_EQ(route_names(cpu, 0, 3), "gpu 0 > cpu 0 > gpu 3");
  const Topology system = topology_of_matrix(all_pairs(2, "SYS"));
  EXPECT_EQ(route_names(system, 0, 1), "gpu 0 > cpu 0 > cpu 1 > gpu 1");
}

TEST(ImportNvidiaSmi, CpusInCommonTellOnlyOfPairsWhoseDistanceIsHidden) {
  const Topology system = topology_of_matrix(all_pairs(4, "SYS", "0-47"));
  EXPECT_EQ(route_names(system, 0, 3), "gpu 0 > cpu 0 > cpu 3 > gpu 3");
  const auto two_pairs = [](const char* first, const char* second) {
    return fmt::format(
        "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
        "GPU0\t X \tPIX\tSYS\tSYS\t{0}\tN/A\tN/A\nGPU1\tPIX\t X \tSYS\tSYS\t{0}\tN/A\tN/A\n"
        "GPU2\tSYS\tSYS\t X \tPIX\t{1}\tN/A\tN/A\nGPU3\tSYS\tSYS\tPIX\t X \t{1}\tN/A\tN/A\n",
        first, second);
  };
  for (const std::string& text : {two_pairs("0-15", "16-31"), two_pairs("N/A", "N/A")}) {
    EXPECT_EQ(route_names(topology_of_matrix(text), 0, 3),
              "gpu 0 > pci switch 0 > cpu 0 > cpu 1 > pci switch 1 > gpu 3");
  }
}

TEST(ImportNvidiaSmi, MoreNvlinksThanAGpuHasMeanASwitch) {
  const Topology topology = topology_of_matrix(all_pairs(8, "NV12"));
  EXPECT_EQ(route_names(topology, 0, 7), "gpu 0 > nvswitch > gpu 7");
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 7), 240);
}

TEST(ImportNvidiaSmi, BehindASwitchAGpuMayHaveLostLinks) {
  const Topology topology = topology_of_matrix(
      "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\nGPU0\tX\tNV18\tNV16\tNV18\t0-3\n"
      "GPU1\tNV18\tX\tNV16\tNV18\t0-3\nGPU2\tNV16\tNV16\tX\tNV16\t0-3\n"
      "GPU3\tNV18\tNV18\tNV16\tX\t0-3\n");
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 3), 18 * 20);
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 2), 16 * 20);
}

TEST(ImportNvidiaSmi, FourLinksToEachOfThreeOthersAreCables) {
  const Topology topology = topology_of_matrix(all_pairs(4, "NV4"));
  EXPECT_EQ(route_names(topology, 0, 3), "gpu 0 > gpu 3");
  EXPECT_DOUBLE_EQ(route_GBps(topology, 0, 3), 80);
}

TEST(ImportNvidiaSmi, AssumedRatesAreCalledAssumed) {
  const Topology topology = topology_of_matrix(mesh);
  int assumed = 0;
  for (const LinkClass& c : topology.classes())
    assumed += c.source.find("assumed") != c.source.npos;
  EXPECT_EQ(assumed, 3);  // PCIe, between CPUs, NVLink
}

TEST(ImportNvidiaSmi, WhatIsWrongIsNamedWithItsLine) {
  const auto why = [](const std::string& text) {
    return refusal([&] { topology_of_matrix(text); });
  };
  EXPECT_THAT(why("no matrix"), HasSubstr("no line that starts with GPU0"));
  EXPECT_THAT(why("GPU0 GPU1\nGPU0 X\n"), StartsWith("topo.txt:2: row GPU0 has 1 entries for 2"));
  EXPECT_THAT(why("GPU0 GPU1\nGPU0 X NVX\n"), StartsWith("topo.txt:2: unknown entry 'NVX'"));
  EXPECT_THAT(why("GPU0 GPU1\nGPU0 SYS X\n"), HasSubstr("'X' belongs where"));
  EXPECT_THAT(why("GPU0 GPU1\nGPU0 X SYS\n"), HasSubstr("no row for column GPU1"));
  EXPECT_THAT(why("GPU0 GPU1\nGPU0 X SYS\nGPU1 PIX X\n"), HasSubstr("disagree"));
  EXPECT_THAT(why("GPU0 GPU1\nGPU0 X SYS\nGPU0 X SYS\n"), HasSubstr("appears twice"));
  EXPECT_THAT(why("GPU0 GPU0\n"), HasSubstr("column GPU0 appears twice"));
  EXPECT_THAT(why("GPU0 GPU1\nGPU7 X SYS\n"), HasSubstr("row 'GPU7' has no column"));
  EXPECT_THAT(why("GPU0 GPU1 GPU2\nGPU0 X NV18 NV4\nGPU1 NV18 X NV18\nGPU2 NV4 NV18 X\n"),
              HasSubstr("exceed the 18 links a GPU has"));
}

}  // namespace
}  // namespace collbench

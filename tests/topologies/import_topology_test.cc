// Formats are recognised by what is written, whatever the file is called.
#include "topologies/import/import_topology.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/topologies/route_names.h"

namespace collbench {
namespace {

using testing::HasSubstr;

TEST(ImportTopology, FormatsAreRecognisedByTheirContent) {
  const std::array<std::pair<const char*, TopologyFormat>, 9> texts{
      {{"<?xml version='1.0'?>\n<!-- <system> -->\n<platform version=\"4.1\"/>",
        TopologyFormat::simgrid},
       {"<system version=\"1\"/>", TopologyFormat::nccl},
       {"<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology/>", TopologyFormat::hwloc},
       {"\n# comment\ntopology: [Ring]\nnpus_count: [8]\n", TopologyFormat::astra},
       {"\tGPU0\tGPU1\nGPU0\t X \tNV1\n", TopologyFormat::nvidia_smi},
       {"\tGPU0\tGPU1\r\nGPU0\tX\tNV1\r\n", TopologyFormat::nvidia_smi},
       {"# a machine\nsummary = \"x\"\n", TopologyFormat::toml},
       {"[link.a]\n", TopologyFormat::toml},
       {"\xEF\xBB\xBF<system/>", TopologyFormat::nccl}}};
  for (const auto& [text, format] : texts) {
    EXPECT_EQ(detect_topology_format(text, "f"), format) << text;
  }
}

TEST(ImportTopology, WhatIsNoneOfThemIsRefusedWithTheKnownOnes) {
  const auto why = [](const char* text) {
    return refusal([&] { detect_topology_format(text, "f.xml"); });
  };
  EXPECT_THAT(why("<graphs/>"),
              HasSubstr("f.xml: XML that starts with <graphs> is not a topology"));
  EXPECT_THAT(why(""), HasSubstr("no topology format recognised"));
  EXPECT_THAT(why("hello"), HasSubstr("name it with --from"));
}

TEST(ImportTopology, FormatNamesHaveSuggestions) {
  for (const char* name : {"auto", "toml", "simgrid", "nccl", "nvidia-smi", "astra", "hwloc"}) {
    EXPECT_NO_THROW(topology_format(name)) << name;
  }
  EXPECT_THAT(refusal([] { topology_format("simgird"); }), HasSubstr("Did you mean 'simgrid'?"));
}

TEST(ImportTopology, NamesThatATerminalWouldObeyAreRefused) {
  const std::string list = "from,to,bandwidth_GBps,kind\ng0,g1,1,a\ng1,g0,1,a\x1b[2J\n";
  EXPECT_EQ(refusal([&] { import_topology(list, "x.csv"); }),
            "x.csv:3: a control character stands in 'g1,g0,1,a\\x1b[2J'");
  EXPECT_NO_THROW(import_topology(list.substr(0, list.find('\x1b')) + "\r\n", "x.csv"));
}

// As Windows' editors begin a file.
TEST(ImportTopology, AByteOrderMarkIsNoPartOfTheText) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string text : {"from,to,bandwidth_GBps,kind\ng0,g1,1,a\ng1,g0,1,a\n",
                                 "\tGPU0\tGPU1\nGPU0\t X \tNV1\nGPU1\tNV1\t X \n",
                                 "topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ 1 ]\n"
                                 "latency: [ 1 ]\n"}) {
    EXPECT_EQ(import_topology(mark + text, "x").topology.hosts(), 2) << text;
  }
}

TEST(ImportTopology, AFileThatIsNotThereIsRefused) {
  EXPECT_THAT(refusal<Unavailable>([] { import_topology_file("/nowhere/x.xml"); }),
              HasSubstr("cannot read '/nowhere/x.xml'"));
}

TEST(ImportTopology, TheMachineIsNamedAfterItsFile) {
  const auto path = std::filesystem::temp_directory_path() / "collbench_two_gpus.txt";
  std::ofstream(path) << "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n X \n";
  EXPECT_EQ(refusal([&] { import_topology_file(path.string()); }).find("cannot read"),
            std::string::npos);
  std::ofstream(path) << "GPU0 GPU1\nGPU0  X  NV4\nGPU1 NV4  X \n";
  const Machine machine = import_topology_file(path.string());
  EXPECT_EQ(machine.topology.name(), "collbench_two_gpus");
  EXPECT_THAT(machine.source, HasSubstr("collbench_two_gpus.txt"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace collbench

// This machine as a topology: cores, caches and NUMA nodes as the kernel reports them, and GPUs as
// given by a caller that can query the driver.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topologies/machine.h"

namespace collbench {

struct LocalCore {
  std::vector<int> processors;  // one, or two where it runs two threads
  int node = 0;                 // NUMA node
  int cache = -1;               // cores with equal numbers share a last-level cache; -1: unknown
};

struct LocalGpu {
  std::string bus_id;  // "0000:1b:00.0"
  int node = 0;        // NUMA node; -1: unknown, taken for the first
  int sm = 0;          // compute capability, 90 for 9.0
  int pcie_generation = 0;
  int pcie_lanes = 0;
  int pcie_switch = -1;  // GPUs with equal numbers are below one PCIe switch; -1: none is shared
  int switch_links = 0;  // NVLinks to NVSwitches
  std::map<std::string, int> peer_links;  // NVLinks to other GPUs, by bus id
};

struct LocalMachine {
  std::string host;    // its name
  std::string cpu;     // "Intel(R) Xeon(R) Platinum 8480C"
  std::string arch;    // as NCCL writes it: x86_64, arm64
  std::string vendor;  // GenuineIntel; empty where the kernel does not say
  int family = 0;
  int model = 0;
  std::vector<int> nodes;  // NUMA nodes, ascending
  std::vector<LocalCore> cores;
  std::vector<LocalGpu> gpus;  // in CUDA's order
};

/// Reads /sys and /proc below `root` ("" for those of this machine). What is not there has one NUMA
/// node and cores of unknown caches. Throws Unavailable if no processor is described at all.
LocalMachine read_local_machine(const std::string& root = "");

/// The machine: GPUs as hosts where there are any, otherwise cores. Rates of links are what the
/// interfaces carry, for GPUs as NCCL counts on them; memory and caches have assumed ones.
Machine from_local_machine(const LocalMachine& local);

/// The same as NCCL_TOPO_DUMP_FILE would have it. Requires GPUs.
std::string to_nccl_xml(const LocalMachine& local);

}  // namespace collbench

// The GPUs of this machine as NVIDIA's management library sees them: what a record must contain for
// its figures to be understood, and how the GPUs are connected.
//
// NVML comes with the driver (libnvidia-ml.so.1) and is loaded at run time; COLLBENCH_NVML_LIBRARY
// names another file. A query starts no GPU. Serial numbers and UUIDs are not read: they
// identify machines and people, and explain no figure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"

namespace collbench {

/// Values that NVML does not report are 0, -1 or empty.
struct GpuFacts {
  std::string name;    // "NVIDIA H100 80GB HBM3"
  std::string bus_id;  // "0000:1b:00.0", as the kernel writes it
  Bytes memory;
  int sm = 0;  // compute capability, 90 for 9.0
  int clock_sm_mhz = 0;
  int clock_sm_most_mhz = 0;
  int clock_memory_mhz = 0;
  double power_limit_w = 0;
  std::vector<std::string> slowed_by;  // "power cap", "thermal"; idleness is none
  int ecc = -1;                        // 1 on, 0 off
  int mig = -1;
  int pcie_generation = 0;  // the highest of GPU and slot
  int pcie_lanes = 0;
  std::string cpus;  // close to it: "0-51,104-155"
  int numa_node = -1;
  int switch_links = 0;                   // NVLinks to NVSwitches
  std::map<std::string, int> peer_links;  // NVLinks to other GPUs, by their bus ids
};

struct GpuSurvey {
  std::string driver;  // "580.65.06"
  std::vector<GpuFacts> gpus;
  /// As `nvidia-smi topo -m`: "X", "NV18", "PIX", "PXB", "PHB", "NODE", "SYS"; "?" if unknown.
  std::vector<std::vector<std::string>> relations;
  /// The same without NVLinks: how far apart GPUs are on PCI.
  std::vector<std::vector<std::string>> distances;
  std::string unavailable;  // why the query failed; empty if it did not
};

/// Never throws.
GpuSurvey survey_gpus();

/// The matrix in the form of `nvidia-smi topo -m`, without network adapters.
std::string topology_matrix(const GpuSurvey& survey);

/// The facts for records, by keys that begin with "gpu"; values that differ between GPUs are
/// listed. Empty without GPUs.
std::map<std::string, std::string> gpu_environment(const GpuSurvey& survey);

/// "gpu:1 (0000:4b:00.0) was slowed down: thermal" for each that is, by its place in `bus_ids`,
/// which are cuda_bus_ids(); "gpu 3 of nvidia-smi (...)" where it is not among them.
std::vector<std::string> slowed_gpus(const GpuSurvey& survey, std::span<const std::string> bus_ids);

}  // namespace collbench

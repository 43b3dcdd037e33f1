// Thresholds that vendors publish for a machine: what its all-reduce should reach at least. Each
// knows one machine at one size and names no cause, so they stand beside a diagnosis as a second
// opinion.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "heuristics/measurement.h"

namespace collbench {

/// Whether a text in lower case names that GPU, alone or behind a count: "8xh100", but not "gh100"
/// or "h1000" for "h100".
bool names_gpu(std::string_view text, std::string_view gpu);

struct VendorFloor {
  const char* vendor;   // "Azure NHC"
  const char* machine;  // "ND H100 v5"
  const char* gpu;      // part of a machine's name, in lower case: "h100"
  int ranks;
  int nodes;
  double busbw_GBps;
  Bytes at;            // the size of the test; 0: the largest
  const char* source;  // where it is published
};

/// Those of the GPUs that `hardware` names (a machine as for --topo, or what a table says of its
/// devices) and of that scale.
std::vector<VendorFloor> floors_of(std::string_view hardware, const Scale& scale);

/// The machine, as for --topo, that a table calls by its name ("2x AWS p4de.24xlarge"), or else of
/// which it says what its GPUs are and how many a node has; empty where that is not enough to know.
/// "NVIDIA H100 80GB HBM3", 8 a node: "dgx-h100".
std::string machine_of_gpus(std::string_view hardware, int per_node);
/// Whether the text calls a shipped machine with so many GPUs by its name.
bool names_its_machine(std::string_view hardware, int per_node);
/// Other shipped machines with as many of those GPUs, whose adapters are others; none where the
/// text names its machine.
std::vector<std::string> other_machines_of_gpus(std::string_view hardware, int per_node);

}  // namespace collbench

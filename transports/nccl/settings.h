// The settings in a spec such as "nccl:algo=ring:proto=ll128:graph".
//
// Algorithm and protocol are forced by environment variables that NCCL reads once per process, at
// its first call: a process can measure one such setting only, and another setting needs new
// processes. All other settings belong to a communicator.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace collbench {

struct NcclSettings {
  std::string algo;          // "ring", "tree", "nvls", ...; empty: NCCL chooses
  std::string proto;         // "ll", "ll128", "simple"; empty: NCCL chooses
  int channels = 0;          // CTAs that work on it; 0: NCCL chooses
  int parts = 1;             // calls that one all-reduce is split into, in one group
  bool nonblocking = false;  // calls return at once; NCCL then uses a thread for each
  bool graph = false;        // recorded once as a CUDA graph, then launched
  bool registered = false;   // buffers are registered with the communicator: zero copies

  /// Whether a variable must be set before NCCL's first call.
  bool needs_own_process() const { return !algo.empty() || !proto.empty(); }
  /// The environment variables to set: {"NCCL_ALGO", "Ring"}.
  std::vector<std::pair<std::string, std::string>> environment() const;
  /// "ring, ll128, 4 channels, graph"; empty if everything is NCCL's choice.
  std::string description() const;
};

/// Options: algo=NAME (or the bare name), proto=NAME, channels=N, parts=N, and the flags
/// nonblocking, graph and register. Throws InvalidArgument with a suggestion for unknown
/// ones.
NcclSettings parse_nccl_settings(const std::string& spec);

/// Variables that let `ranks` processes share one GPU, which NCCL otherwise refuses: each process
/// looks like a host of its own, so that they communicate over the loopback interface. The GPU is
/// time-sliced, so such times do not measure a network.
std::vector<std::pair<std::string, std::string>> shared_gpu_environment(int rank);

/// Sets variables of this process, except those that the user has set. Throws InvalidArgument if
/// other values were set here before. Not while other threads read the environment.
void tell_nccl(const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace collbench

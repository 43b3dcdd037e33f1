// What a spec such as "nccl:algo=ring:proto=ll128:graph" asks of NCCL.
//
// Algorithm and protocol are forced by environment variables that NCCL reads once per process, at
// its first call: a process can measure one such setting only, and ranks of another one need other
// processes. Everything else belongs to a communicator.
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

  /// Whether NCCL must be told before its first call.
  bool needs_own_process() const { return !algo.empty() || !proto.empty(); }
  /// The variables that NCCL must find: {"NCCL_ALGO", "Ring"}.
  std::vector<std::pair<std::string, std::string>> environment() const;
  /// "ring, ll128, 4 channels, graph"; empty if everything is NCCL's choice.
  std::string description() const;
};

/// Options: algo=NAME (or the bare name), proto=NAME, channels=N, parts=N, and the flags
/// nonblocking, graph and register. Throws InvalidArgument with a suggestion for what is none of
/// them.
NcclSettings parse_nccl_settings(const std::string& spec);

/// What lets `ranks` processes share one GPU, which NCCL refuses otherwise: to it each of them
/// is a host of its own, so that they talk over the loopback interface. Time-sliced: such timings
/// are no measurement of a network.
std::vector<std::pair<std::string, std::string>> shared_gpu_environment(int rank);

/// Sets variables for this process, those that the user has set excepted. Throws InvalidArgument if
/// NCCL was already told something else here. Not while other threads read the environment.
void tell_nccl(const std::vector<std::pair<std::string, std::string>>& variables);

}  // namespace collbench

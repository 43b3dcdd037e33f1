// What NCCL and RCCL take their time from beside the links of a machine: the generation of its GPUs
// and the kind of network that its adapters belong to, each a row of numbers.
//
// Times of a library's steps are constants of the library (heuristics/nccl/library_times.h) times
// the factors here. [gpus] of a machine file names the rows and may replace their numbers.
// Sources: as each row says; "fitted" are those of a joint fit to 51 tables of nccl-tests and
// rccl-tests (results/studies/nccl-a-priori), so what they predict of those systems is in sample.
#pragma once

#include <span>
#include <string>

#include "core/units.h"

namespace collbench {

struct GpuGeneration {
  std::string name = "unknown";
  int compute_capability = 90;      // of NCCL's tables of constants; of AMD's GPUs the nearest
  double start_factor = 1;          // of the time until a kernel runs
  double step_factor = 1;           // of one step to another GPU of the node
  double channel_factor = 0;        // of what one channel carries with LL and LL128; 0: no limit
  double ll128_overlap_factor = 1;  // of how well rings of LL128 overlap inside a node
  Seconds nvls_fill{100e-6};        // of the pipeline of a long vector through NVLS
  double efficiency = 0.8;          // of the links, where the machine does not say
  double search_share = 0.8;  // of the nominal rate of links: what the library's search counts
  bool ll128 = true;          // has the protocol, which needs 128-byte stores that stay whole
  bool ll128_far = true;      // and between nodes
  bool fitted = false;        // to times of such GPUs; else taken from others
  std::string source;
};

struct AdapterNetwork {
  std::string name = "offloaded";
  Seconds hop_ll{5.3e-6};  // from one node to the next with small messages (LL)
  Seconds hop_simple{24.7e-6};
  double efficiency = 0.91;       // of the adapters, where the machine does not say
  double ll_share = 0.39;         // of the adapters' rate that LL reaches
  double ll128_share = 0.91;      // and LL128
  double short_ring_share = 0.8;  // that a ring with Simple reaches with 128 KiB or less a step
  bool reaches_gpu = true;        // close enough to GPUs for LL128
  bool fitted = false;  // to times of all sizes; else of one system, or in part taken from others
  std::string source;
};

/// What a machine says of its GPUs.
struct Gpus {
  GpuGeneration generation;
  AdapterNetwork network;
  std::string cpu = "intel";  // intel, amd, arm, power
  int per_host = 0;           // GPUs of one operating system, where NVLink joins several; else 0
  bool sharp = false;         // switches of the network add
  std::string source;
};

/// volta, ampere, hopper, blackwell, mi300x, unknown.
std::span<const GpuGeneration> gpu_generations();
/// infiniband, roce, slingshot, efa-v1, ..., and for what is not known offloaded and software.
std::span<const AdapterNetwork> adapter_networks();
/// For adapters of which nothing but the latency of a way is known: offloaded, or from 10 us on
/// software, whose protocols have more.
const AdapterNetwork& network_by_latency(Seconds way);

}  // namespace collbench

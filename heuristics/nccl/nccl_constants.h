// The numbers of NCCL's tuning model, as NCCL 2.28.9 has them.
//
// Latencies in microseconds, bandwidths in GB/s (1e9). Order of algorithms: tree, ring, CollNet
// direct, CollNet chain, NVLS, NVLS tree, PAT; of protocols: LL, LL128, Simple. Rows of bandwidths
// are Volta, Ampere, Hopper, Blackwell; columns 1, 2 and more nodes.
// Source: NVIDIA NCCL 2.28.9, src/graph/tuning.cc:142-199 (Apache-2.0); the test compares them with
// results/published/nccl-tuner.csv.
#pragma once

#include <array>

namespace collbench {

using NcclByProtocol = std::array<double, 3>;
using NcclByAlgorithm = std::array<NcclByProtocol, 7>;
using NcclByNodes = std::array<double, 3>;
using NcclByChip = std::array<NcclByNodes, 4>;

struct NcclConstants {
  NcclByAlgorithm base_latency;
  NcclByAlgorithm nvlink_latency;  // of one step
  NcclByAlgorithm pci_latency;
  NcclByAlgorithm net_latency;
  NcclByChip ll_most;  // of all channels; beyond one node row 1 is AMD's CPUs, row 0 others
  NcclByChip ring_ll128_per_channel;
  NcclByChip tree_ll128_per_channel;
  NcclByChip tree_per_channel;
  NcclByChip nvls_tree_per_channel;
  std::array<double, 4> nvls_efficiency;
  /// By protocol and log2(bytes / 64): what a tree reaches of its bandwidth.
  std::array<std::array<double, 23>, 3> tree_correction;
};
extern const NcclConstants nccl_constants;

}  // namespace collbench

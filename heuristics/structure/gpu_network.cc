// Nodes of several GPUs joined by switches, under NCCL's forced algorithms and hierarchical MPI.
//
// N nodes, R GPUs, L = log2 N, n bytes, B = n^3 / (n^3 + 300 kB^3) for what is beyond NCCL's
// low-latency protocols:
//
//   ring   start + 2 (R - 1) (ring_step + B ring_step_large) + 2 n (R - 1)/R / rate
//   tree   start + 2 L (tree_hop + B tree_hop_large) + tree_chunks sqrt(n L) + 2 n (R - 1)/R / rate
//   halves in a node, then n/g each between nodes by halving (2 L rounds) or doubling (L rounds)
#include <algorithm>
#include <array>
#include <cmath>

#include "heuristics/structure/network_model.h"

namespace collbench {
namespace {

enum GpuConstant : std::size_t {
  nccl_start,
  ring_step,
  ring_step_large,
  tree_hop,
  tree_hop_large,
  tree_chunks,
  rate_byte,
  halving_start,
  doubling_start,
  between_round,
  between_byte,
  inside_byte,
};

constexpr std::array<NetworkConstant, 12> gpu_constants{{
    {"start", "us", 15.5, 0.4, "of a collective of NCCL"},
    {"ring_step", "us", 1.45, 0.3, "of a step of the ring"},
    {"ring_step_large", "us", 1.9, 0.4, "of a step beyond 300 kB, in addition"},
    {"tree_hop", "us", 2.3, 0.4, "of a level of the tree between nodes, one way"},
    {"tree_hop_large", "us", 8.5, 0.4, "of it beyond 300 kB, in addition"},
    {"tree_chunks", "us/sqrt(B)", 0.015, 0.5, "of the pipeline of the tree"},
    {"byte", "us/B", 1 / 88e3, 0.3, "of ring and tree; all adapters of a node together"},
    {"halving_start", "us", 50, 0.4, "of hierarchical halving"},
    {"doubling_start", "us", 94, 0.4, "of hierarchical doubling"},
    {"between_round", "us", 7, 0.4, "of a round of them between nodes"},
    {"between_byte", "us/B", 1 / 20e3, 0.3, "of the adapter of a GPU"},
    {"inside_byte", "us/B", 1 / 400e3, 0.5, "between the GPUs of a node"},
}};

constexpr double low_latency = 300e3;

double gpu_time(const PlayedMethod& played, const Scale& scale, double bytes,
                std::span<const double> c) {
  const double large = saturation(bytes, low_latency, 3);
  const double rounds = std::ceil(std::log2(scale.nodes) - 1e-9);
  const double ranks = scale.ranks;
  const double each = scale.ranks_per_node();
  const double sent = 2 * bytes * (ranks - 1) / ranks;
  const double ring = c[nccl_start] +
                      2 * (ranks - 1) * (c[ring_step] + large * c[ring_step_large]) +
                      sent * c[rate_byte];
  const double tree = c[nccl_start] + 2 * rounds * (c[tree_hop] + large * c[tree_hop_large]) +
                      c[tree_chunks] * std::sqrt(bytes * rounds) + sent * c[rate_byte];
  const double inside = 2 * bytes * (each - 1) / each * c[inside_byte];
  switch (played.form) {
    case PlayedForm::node_ring:
      return ring;
    case PlayedForm::node_tree:
      return tree;
    case PlayedForm::node_halving:
      return c[halving_start] + 2 * rounds * c[between_round] + inside +
             2 * bytes / each * (1 - 1.0 / scale.nodes) * c[between_byte];
    case PlayedForm::node_doubling:
      return c[doubling_start] + rounds * c[between_round] + inside +
             rounds * bytes / each * c[between_byte];
    default:
      return std::min(ring, tree);
  }
}

}  // namespace

NetworkModel gpu_network() {
  return {Interconnect::gpu_nodes,
          "gpu-nodes",
          gpu_constants,
          gpu_time,
          0.06,
          1,
          {"start", "tree_hop", "byte", "", "ring_step", "inside_byte"}};
}

}  // namespace collbench

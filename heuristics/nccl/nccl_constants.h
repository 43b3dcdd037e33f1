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

inline constexpr NcclByProtocol no_such_pair{0, 0, 0};

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

inline constexpr NcclConstants nccl_constants{
    .base_latency = {{{6.8, 14.0, 8.4},
                      {6.6, 14.0, 8.4},
                      no_such_pair,
                      no_such_pair,
                      no_such_pair,
                      no_such_pair,
                      {8.0, 8.0, 8.0}}},
    .nvlink_latency = {{{0.6, 1.25, 4.0},
                        {0.6, 1.9, 3.4},
                        {0, 0, 3.7},
                        {0, 0, 2.8},
                        {0, 0, 25},
                        {0, 0, 25},
                        {0, 0, 4.0}}},
    .pci_latency = {{{1.0, 1.9, 4.0},
                     {1.0, 2.5, 5.7},
                     {0, 0, 3.7},
                     {0, 0, 2.8},
                     no_such_pair,
                     no_such_pair,
                     {0, 0, 4.0}}},
    .net_latency = {{{5.0, 8.5, 14},
                     {2.7, 4.0, 14.0},
                     {0, 0, 31},
                     {0, 0, 30},
                     {0, 0, 18},
                     {0, 0, 20.9},
                     {0, 0, 14}}},
    .ll_most = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}},
    .ring_ll128_per_channel =
        {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 34.6, 73.4}}},
    .tree_ll128_per_channel = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}},
    .tree_per_channel = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}},
    .nvls_tree_per_channel = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 43.8}}},
    .nvls_efficiency = {0, 0, 0.85, 0.74},
    .tree_correction = {
        {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
         {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
         {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
          .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}}};

}  // namespace collbench

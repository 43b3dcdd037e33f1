// How long an all-reduce of NCCL or RCCL takes: its tuner chooses, and a model of what was chosen
// tells the time.
//
// NCCL's cost model (nccl_model.h) is what the library compares, so it says what will be played,
// switches between protocols included; as a clock it is half of the truth below 1 MiB. Here
//
//   T = start_p + (L^q + W^q)^(1/q)
//
// L is the latency of all steps, W the time of the bytes at the rate reached, and q how well the
// two overlap: above 1 they do, below 1 the pipeline fills badly.
//
//   ring  L = (2 (n-1) - m) step_p + 0.89 m hop_p      W = S 2 (n-1)/n / min(net, gpu, channels)
//   tree  L = 2 ((g-1) step_p + log2(N) hop_p)         W = S / min(net / (N > 2 ? 2 : 1), gpu / 2)
//
// for n ranks, g on each of N nodes, m = 2 (N-1) ways between nodes; two nodes cross the network
// once in each direction. RCCL's all-pairs kernels inside a node send each GPU's n-th of the vector
// straight to it, and the sums back (library_rules.h says when):
//
//   all-pairs  L = 2 phase_p                           W = 2 S/n / (a link between two GPUs)
//
// With NVLS the first piece of the vector fills the pipeline. It grows with the vector until it
// takes f = fill (1 + log2(N)), so that
//
//   NVLS  T = start_p + 21.5 us (+ 2 log2(N) hop of Simple) + F + F f / (F + f)
//
// F is the time of the bytes, in which what the switches add, S / switch (of which 0.925 is reached
// where GPUs serve the network too), and what the network carries, S / (net / (N > 2 ? 2 : 1)),
// overlap.
//
// What a network's plugin states as its latency is in the choice and in no time (library_rules.h).
//
// A channel is one block of threads, and NCCL uses few of them for short vectors, so that rings
// with LL and LL128 are as fast as the channels in use. Steps, starts, fills and what a channel
// carries are constants times factors of the GPU's generation, hops those of the network
// (topologies/gpus.h). Beyond 1 MiB the time, but for NVLS, is blended with NCCL's own cost, whose
// errors have the other sign: T^(1-w) cost^w, w = 0.5 from 64 MiB on. A process that drives k GPUs
// cannot start them in less than about 5.8 us each.
// Constants: a joint fit to 51 tables of nccl-tests and rccl-tests (tests/bench/library_fit.cc);
// results/studies/nccl-a-priori has its errors, in sample and for systems left out. The interval
// comes from the latter.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "heuristics/nccl/nccl_model.h"

namespace collbench {

/// What the library takes on any machine, times factors of GPUs and networks (topologies/gpus.h).
/// By protocol where there are three: LL, LL128, Simple.
struct LibraryConstants {
  std::array<double, 3> start_us{7.6, 14.7, 9.2};
  std::array<double, 3> step_us{0.7, 1.08, 4.06};
  /// RCCL's steps, of NCCL's, as both publish them for rings inside a node. Source: ROCm/rccl
  /// 0cbce2a7, src/graph/tuning.cc, tuning_model_5; NVIDIA NCCL 2.28.9, src/graph/tuning.cc.
  std::array<double, 3> rccl_step{0.8 / 0.6, 1, 2.1 / 3.4};
  double hop_ll128_of_ll = 0.86;
  std::array<double, 3> reached_share{0.35, 1, 1};  // of the links' rate
  std::array<double, 3> channel_rate{3.04, 28, 0};  // GB/s of a ring's channel; 0: no limit seen
  std::array<double, 3> overlap_of_ring{1.36, 0.56, 0.73};
  std::array<double, 3> overlap_of_tree{0.42, 0.44, 0.56};
  double overlap_of_nvls = 7.3;  // of what the switches add and what the network carries
  double nvls_us = 21.5;
  double nvls_far_share = 0.925;  // of the switches' rate, where GPUs serve the network too
  double ring_hop_share = 0.89;   // a ring's steps overlap the hops of others
  std::array<double, 3> pairs_us{2.42, 0, 6.7};  // a phase of RCCL's all-pairs kernels
  double pairs_share = 0.74;  // of its link that such a kernel with Simple reaches
};

/// What is asked of the library: its own choice unless one is named.
struct LibraryQuestion {
  Bytes bytes;
  TypedOp what{};
  bool in_place = false;
  int gpus_per_process = 1;                  // `-g` of nccl-tests
  std::optional<NcclAlgorithm> algorithm{};  // none: what the tuner takes
  std::optional<NcclProtocol> protocol{};
};

struct LibraryPlay {
  NcclTime tuner;   // algorithm and protocol, and what the tuner expects of them
  Seconds time{0};  // what they take
  Seconds low{0};   // 80 % interval
  Seconds high{0};
};
/// "double-tree, LL".
std::string to_string(const LibraryPlay& play);

/// Microseconds of what the tuner may take (nccl_times()).
double library_us(const NcclInputs& inputs, const LibraryQuestion& question, const NcclTime& play,
                  const LibraryConstants& constants = {});

/// All that are not disabled and fit the question, in the order of NCCL's table. Throws as
/// nccl_times() does.
std::vector<LibraryPlay> library_plays(const NcclInputs& inputs, const LibraryQuestion& question);

/// The play that the tuner takes: the one that it expects to be fastest. Throws InvalidArgument,
/// naming what there is, if none fits the question.
LibraryPlay library_choice(const NcclInputs& inputs, const LibraryQuestion& question);

}  // namespace collbench

// What libraries take before they compare costs: RCCL's kernels between all pairs of a node, and
// the regions of the tuner that AWS's network plugin brings. And what a network's plugin tells the
// library that compares.
//
// All are published tables, so they are rows here. A tuner plugin sets the cost of its choice to 0,
// and NCCL keeps its own where the choice is not available.
#pragma once

#include <optional>

#include "heuristics/nccl/nccl_model.h"

namespace collbench {

/// Whether the GPUs are AMD's, whose library it is.
bool is_rccl(const NcclInputs& inputs);

struct SettledPlay {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  int channels = 0;  // 0: as many as the library counts for the size
};

/// None where the costs decide. RCCL's kernels are of 8 GPUs of one node and never average; in
/// place there is none above 11 MiB and up to 14 MiB. AWS's regions are of three nodes or more with
/// 8 GPUs each.
std::optional<SettledPlay> settled_play(const NcclInputs& inputs, Bytes bytes, TypedOp what = {},
                                        bool in_place = false);

/// The latency that the network's plugin states, in us. NCCL's tuner adds it to its own for each
/// step between nodes, twice for Simple; no step takes it. 0 where nothing is stated.
double stated_latency_us(const NcclInputs& inputs);

}  // namespace collbench

// What NCCL's search found, from the file it writes when NCCL_GRAPH_DUMP_FILE is set: the inputs of
// its cost model, so that they need not be guessed.
//
// <graphs version="1"> <graph id="0" pattern="4" nchannels="12" speedintra="30" speedinter="30"
// latencyinter="0" typeintra="NVL" typeinter="PIX" ...>; id 0 is the ring, 1 the tree, 2 CollNet
// chain, 3 NVLS, 4 CollNet direct. Speeds are GB/s of one channel. The file says nothing of the
// processor, the GPU's generation and the number of nodes: those are the caller's. Its graphs for
// CollNet are there whether or not CollNet is in use, so `collnet` is the caller's as well.
// Source: facts of NVIDIA NCCL 2.28.9, src/graph/search.cc.
#pragma once

#include <string>
#include <string_view>

#include "heuristics/nccl/nccl_model.h"

namespace collbench {

/// Throws InvalidArgument as FILE:LINE: for what is not such a file, or has no ring.
NcclInputs import_nccl_graphs(std::string_view text, const std::string& file);

}  // namespace collbench

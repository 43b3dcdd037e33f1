// NCCL's cost model of an all-reduce: what its tuner expects of each algorithm and protocol.
//
//   time = latency + bytes / bandwidth
//
// from the constants of heuristics/nccl/nccl_constants.h and from the graphs that NCCL's search
// found: how many channels, and how fast each is inside a node and between nodes. Everything
// depends on the graphs. They come from a dump of NCCL (NCCL_GRAPH_DUMP_FILE,
// import_nccl_graphs()), or are found from the links of a machine as NCCL's search would. The times
// are what the tuner compares, not what a play takes: heuristics/nccl/library_times.h has that.
//
// Complete for all-reduce of one operation: ring, double tree, CollNet direct and chain, NVLS,
// NVLS tree. Not here: several operations in a group, kernels for symmetric memory, fp8.
// Source: NVIDIA NCCL 2.28.9, src/graph/tuning.cc:267-402 and 584-601, src/enqueue.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "topologies/machine.h"

namespace collbench {

enum class NcclAlgorithm : std::uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat,
  all_pairs  // of RCCL, no row of the tuner's table
};
constexpr bool is_nvls(NcclAlgorithm a) {
  return a == NcclAlgorithm::nvls || a == NcclAlgorithm::nvls_tree;
}
enum class NcclProtocol : std::uint8_t { ll, ll128, simple };
/// As files of tuner plugins write them: "nvls_tree", "ll128"; "all_pairs".
std::string_view to_string(NcclAlgorithm algorithm);
std::string_view to_string(NcclProtocol protocol);
/// As policies write them: "double-tree", "nvls-tree"; "LL", "LL128", "Simple".
std::string_view policy_name(NcclAlgorithm algorithm);
std::string_view policy_name(NcclProtocol protocol);
/// The one that policies call so; none for another name.
std::optional<NcclAlgorithm> nccl_algorithm(std::string_view name);
std::optional<NcclProtocol> nccl_protocol(std::string_view name);
/// The one that files call so; none for another name.
std::optional<NcclAlgorithm> nccl_file_algorithm(std::string_view name);
std::optional<NcclProtocol> nccl_file_protocol(std::string_view name);

/// How two devices reach each other, best first.
enum class NcclPath : std::uint8_t { loc, nvl, nvb, c2c, pix, pxb, pxn, p2c, phb, sys, net, dis };

enum class NcclCpu : std::uint8_t { intel, amd, arm, power };

struct NcclGraph {
  int channels = 0;  // 0: not found
  double intra = 0;  // GB/s of one channel inside a node
  double inter = 0;  // and between nodes
  NcclPath type_intra = NcclPath::nvl;
  NcclPath type_inter = NcclPath::pix;
  double latency_inter = 0;  // us, of the network, beyond the constants
  int pattern = 4;           // 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6 CollNet
};

/// What the time of a play depends on beside the graphs (heuristics/nccl/library_times.h). Rates in
/// GB/s that large transfers reach, one way; 0: not known, and the graphs' are taken.
struct NcclHardware {
  GpuGeneration gpu;
  AdapterNetwork network;
  double of_node = 0;  // all adapters of a node
  int adapters = 0;    // of a node; 0 on a single one
  double of_gpu = 0;   // all links of one GPU to others of its node
  double nvls = 0;     // bytes of the vector, where switches of the node add
};

struct NcclInputs {
  int ranks = 0;
  int nodes = 1;
  int compute_capability = 90;  // the least of all: 70, 80, 90, 100
  NcclCpu cpu = NcclCpu::intel;
  bool collnet = false;   // switches of the network add
  bool nvswitch = false;  // as CollNet direct requires
  bool ll128 = true;      // the GPUs have the protocol
  NcclGraph ring;
  NcclGraph tree;
  NcclGraph collnet_chain;
  NcclGraph collnet_direct;
  NcclGraph nvls;
  NcclHardware hardware;
  std::string origin;    // where the graphs come from
  bool guessed = false;  // from links alone
};

/// What the tuner expects, with the channels and threads per block it would use.
struct NcclTime {
  NcclAlgorithm algorithm;
  NcclProtocol protocol;
  double latency_us = 0;
  double bandwidth = 0;  // GB/s of the vector
  int channels = 0;
  int threads = 0;
  Seconds time{0};  // 0: taken whatever the others cost (library_rules.h)
};

/// Those that are not disabled and have kernels for `what`, in the order of the table, and
/// all-pairs where it is played. Throws InvalidArgument if the inputs have no ring or ranks that do
/// not fit the nodes.
std::vector<NcclTime> nccl_times(const NcclInputs& inputs, Bytes bytes, TypedOp what = {},
                                 bool in_place = false);

/// The graphs that NCCL's search finds on the links of a machine, by the rules that reproduce those
/// of machines whose dumps or measured bandwidths are known; guessed where the machine does not say
/// what its GPUs are ([gpus]). Hosts that NVLink joins count as one node, as NCCL counts them;
/// those of a network that is no cluster's as nodes of one GPU each, whatever `nodes` says. A hop
/// takes what the links take at least. Throws InvalidArgument unless the nodes divide the ranks and
/// have room for them, and for TPUs.
NcclInputs nccl_inputs(const Machine& machine, int ranks, int nodes);

/// What NCCL's search found, from the file it writes when NCCL_GRAPH_DUMP_FILE is set: the inputs
/// of its cost model, so that they need not be guessed.
///
/// <graphs version="1"> <graph id="0" pattern="4" nchannels="12" speedintra="30" speedinter="30"
/// latencyinter="0" typeintra="NVL" typeinter="PIX" ...>; id 0 is the ring, 1 the tree, 2 CollNet
/// chain, 3 NVLS, 4 CollNet direct. Speeds are GB/s of one channel. Of ring and tree both get the
/// fewer channels, as NCCL goes on. The file says nothing of the processor, the GPU's generation
/// and the number of nodes: those are the caller's, and so is `collnet`, without which graphs for
/// CollNet do not count. Source: facts of NVIDIA NCCL 2.28.9, src/graph/search.cc,
/// src/init.cc:1192. Throws InvalidArgument as FILE:LINE: for what is not such a file, or has no
/// ring.
NcclInputs import_nccl_graphs(std::string_view text, const std::string& file);

}  // namespace collbench

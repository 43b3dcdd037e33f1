#include "heuristics/diagnosis/changed_machine.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "heuristics/nccl/library_rules.h"

namespace collbench {
namespace {

template <typename Change>
void change_graphs(NcclInputs& in, Change change) {
  for (NcclGraph* graph : {&in.ring, &in.tree, &in.nvls, &in.collnet_chain, &in.collnet_direct}) {
    change(*graph);
  }
}

}  // namespace

Seconds time_on(const PlayedOn& on, Bytes bytes) {
  LibraryQuestion question = on.question;
  question.bytes = bytes;
  const LibraryPlay chosen = library_choice(on.believed, question);
  question.algorithm = chosen.tuner.algorithm;
  question.protocol = chosen.tuner.protocol;
  return library_choice(on.real, question).time;
}

double share_of_protocol(const PlayedOn& on, NcclProtocol protocol, Bytes bytes) {
  PlayedOn with_it = on;
  with_it.question.protocol = protocol;
  try {
    return time_on(on, bytes) / time_on(with_it, bytes);
  } catch (const InvalidArgument&) {
    return 1;
  }
}

double FallingRate::at(Bytes bytes) const {
  const double over = static_cast<double>(bytes.count) / (from_MiB * 1048576);
  return std::clamp(std::pow(over, power), least, 1.0);
}

void scale_network(NcclInputs& in, double share) {
  in.hardware.of_node *= share;
  change_graphs(in, [&](NcclGraph& graph) {
    graph.intra *= share;  // a channel carries as much inside a node as between nodes
    graph.inter *= share;
  });
}

void scale_gpus(NcclInputs& in, double share) {
  in.hardware.of_gpu *= share;
  in.hardware.nvls *= share;
  change_graphs(in, [&](NcclGraph& graph) {
    const double cap = in.hardware.of_gpu / std::max(1, graph.channels);
    graph.intra = in.nodes == 1 ? graph.intra * share : std::min(graph.intra, cap);
    graph.inter = in.nodes == 1 ? graph.inter * share : std::min(graph.inter, cap);
  });
}

void lengthen_hops(NcclInputs& in, Seconds added) {
  in.hardware.network.hop_ll += added;
  in.hardware.network.hop_simple += added;
  change_graphs(in, [&](NcclGraph& graph) { graph.latency_inter += added.count() * 1e6; });
}

void lengthen_path(NcclInputs& in) {
  change_graphs(in, [](NcclGraph& graph) { graph.type_inter = NcclPath::sys; });
}

void use_sockets(NcclInputs& in, double rate, Seconds hop) {
  scale_network(in, rate / in.hardware.of_node);
  AdapterNetwork& network = in.hardware.network;
  network.hop_ll = std::max(network.hop_ll, hop);
  network.hop_simple = std::max(network.hop_simple, 2.7 * network.hop_ll);
  lengthen_path(in);
  // NCCL's own sockets state no latency.
  const double stated = stated_latency_us(in);
  change_graphs(in, [&](NcclGraph& graph) {
    graph.latency_inter = std::max(0.0, graph.latency_inter - stated);
  });
}

void remove_nvls(NcclInputs& in) { in.nvls.channels = 0; }

}  // namespace collbench

// The graphs that NCCL finds on machines that are known, and a guess for the others.
//
// The known ones reproduce measured bandwidths of large vectors within a tenth: 6 channels of 20
// GB/s on a DGX-1 with V100, 8 of 24 between DGX A100, NVLS with 8 channels on 8 H100, 8 of 48
// between nodes with 400 Gb/s adapters.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/nccl/nccl_model.h"

namespace collbench {
namespace {

struct Known {
  std::string_view machine;  // of one node
  int most_nodes;
  int capability;
  NcclCpu cpu;
  int channels;  // of ring and tree
  double intra;
  double inter;
  int nvls_channels;
  double nvls_intra;
  double nvls_inter;
  bool confirmed;  // by measurements
};
constexpr int any_nodes = 1 << 30;
constexpr std::array<Known, 7> known_machines{{
    {"dgx-1-v100", 1, 70, NcclCpu::intel, 6, 20, 20, 0, 0, 0, true},
    {"dgx-a100", 1, 80, NcclCpu::amd, 12, 20, 20, 0, 0, 0, false},
    {"dgx-a100", any_nodes, 80, NcclCpu::amd, 8, 24, 24, 0, 0, 0, true},
    {"dgx-h100", 1, 90, NcclCpu::intel, 12, 30, 30, 8, 40, 60, true},
    {"dgx-h100", any_nodes, 90, NcclCpu::intel, 8, 48, 48, 8, 48, 48, true},
    {"hgx-h200", 1, 90, NcclCpu::intel, 12, 30, 30, 8, 40, 60, true},
    {"hgx-h200", any_nodes, 90, NcclCpu::intel, 8, 48, 48, 8, 48, 48, true},
}};

struct Chip {
  std::string_view part;  // of a machine's name
  int capability;
};
constexpr std::array<Chip, 13> chips{{{"v100", 70},
                                      {"dgx-1", 70},
                                      {"dgx-2", 70},
                                      {"a100", 80},
                                      {"p4d", 80},
                                      {"h100", 90},
                                      {"h200", 90},
                                      {"gh200", 90},
                                      {"p5", 90},
                                      {"a3", 90},
                                      {"b200", 100},
                                      {"b300", 100},
                                      {"p6", 100}}};

/// What the search tries as speed of a channel, largest first; GB/s.
constexpr std::array<double, 13> speeds{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};

/// "dgx-h100" of "cluster:8xdgx-h100,400Gbps,5us".
std::string node_name(const std::string& machine) {
  std::string name = machine;
  if (name.starts_with("cluster:")) name = name.substr(name.find('x') + 1);
  return name.substr(0, std::min(name.find(','), name.find(':')));
}

int capability_of(const std::string& name) {
  for (const Chip& chip : chips) {
    if (name.find(chip.part) != std::string::npos) return chip.capability;
  }
  return 90;
}

/// Rates out of the first node, GB/s: of one of its hosts inside it, and of all of its adapters.
struct Rates {
  double inside = 0;
  double outside = 0;
  bool nvlink = false;
};

Rates rates_of(const Topology& topology, int per_node, int nodes) {
  Rates rates;
  std::set<LinkId> inside;
  std::set<LinkId> outside;
  std::vector<LinkId> route;
  for (Host peer = 1; peer < per_node; ++peer) {
    topology.route(0, peer, route);
    if (!route.empty()) inside.insert(route.front());
  }
  for (Host host = 0; nodes > 1 && host < per_node; ++host) {
    topology.route(host, host + per_node, route);
    const auto first = std::find_if(route.begin(), route.end(), [&](LinkId link) {
      return topology.link_class(link).level > 0;
    });
    outside.insert(first == route.end() ? route.front() : *first);
  }
  for (const LinkId link : inside) {
    rates.inside += topology.capacity(link) / 1e9;
    rates.nvlink = rates.nvlink || topology.link_class(link).name.find("nvl") == 0;
  }
  for (const LinkId link : outside) rates.outside += topology.capacity(link) / 1e9;
  return rates;
}

NcclGraph guess_graph(const Rates& rates, int nodes) {
  const double least = nodes == 1         ? rates.inside
                       : rates.inside > 0 ? std::min(rates.inside, rates.outside)
                                          : rates.outside;
  NcclGraph graph;
  const auto fits =
      std::find_if(speeds.begin(), speeds.end(), [&](double speed) { return speed * 4 <= least; });
  const double speed = fits == speeds.end() ? std::min(least, 3.0) : *fits;
  graph.channels = std::max(1, static_cast<int>(least / speed));
  graph.intra = graph.inter = speed;
  graph.type_intra = rates.nvlink ? NcclPath::nvl : NcclPath::phb;
  graph.type_inter = nodes > 1 ? NcclPath::pxb : NcclPath::pix;
  return graph;
}

void take_known(const Known& known, NcclInputs& inputs) {
  NcclGraph graph;
  graph.channels = known.channels;
  graph.intra = known.intra;
  graph.inter = known.inter;
  inputs.ring = inputs.tree = graph;
  inputs.tree.pattern = 1;
  if (known.nvls_channels > 0) {
    inputs.nvls = graph;
    inputs.nvls.channels = known.nvls_channels;
    inputs.nvls.intra = known.nvls_intra;
    inputs.nvls.inter = known.nvls_inter;
    inputs.nvls.pattern = 5;
  }
  inputs.nvswitch = known.capability >= 80;
  inputs.compute_capability = known.capability;
  inputs.cpu = known.cpu;
  inputs.origin = fmt::format("graphs of {} on {} node{}{}", known.machine, inputs.nodes,
                              inputs.nodes == 1 ? "" : "s",
                              known.confirmed ? ", confirmed by measurements" : ", plausible");
}

}  // namespace

NcclInputs nccl_inputs(const Machine& machine, int ranks, int nodes) {
  NcclInputs inputs;
  inputs.ranks = ranks;
  inputs.nodes = nodes;
  require(nodes >= 1 && ranks % nodes == 0,
          fmt::format("{} ranks cannot be spread evenly over {} nodes", ranks, nodes));
  const std::string name = node_name(machine.topology.name());
  for (const Known& known : known_machines) {
    if (known.machine != name || nodes > known.most_nodes) continue;
    take_known(known, inputs);
    return inputs;
  }
  inputs.compute_capability = capability_of(name);
  const Rates rates = rates_of(machine.topology, ranks / nodes, nodes);
  inputs.ring = inputs.tree = guess_graph(rates, nodes);
  inputs.tree.pattern = 1;
  inputs.guessed = true;
  inputs.origin = fmt::format("guessed from the links of {}", machine.topology.name());
  return inputs;
}

}  // namespace collbench

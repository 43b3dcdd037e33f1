// The graphs that NCCL's search would find on a machine, from its links.
//
// The rules give what is known from dumps and measured bandwidths: 6 channels of 20 GB/s on a DGX-1
// with V100, 12 of 20 inside and 8 of 24 between DGX A100, 12 of 30 and NVLS with 8 of 40 inside,
// 8 of 48 between nodes with 400 Gb/s adapters.
// Source: NVIDIA NCCL 2.28.9, src/graph/search.cc:976-1186 and topo.h.
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/plain_text.h"
#include "core/suggest.h"
#include "heuristics/nccl/library_rules.h"
#include "heuristics/nccl/library_times.h"
#include "heuristics/nccl/nccl_model.h"

namespace collbench {
namespace {

struct Chip {
  std::string_view part;  // of a machine's name
  const char* generation;
};
constexpr std::array<Chip, 14> chips{{{"v100", "volta"},
                                      {"dgx-1", "volta"},
                                      {"dgx-2", "volta"},
                                      {"a100", "ampere"},
                                      {"p4d", "ampere"},
                                      {"mi300", "mi300x"},
                                      {"h100", "hopper"},
                                      {"h200", "hopper"},
                                      {"gh200", "hopper"},
                                      {"p5", "hopper"},
                                      {"a3", "hopper"},
                                      {"b200", "blackwell"},
                                      {"b300", "blackwell"},
                                      {"p6", "blackwell"}}};

/// What the search tries as speed of a channel inside a node, largest first; GB/s.
constexpr std::array<double, 13> speeds{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr std::array<double, 11> speeds_of_hopper{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr std::array<double, 14> speeds_of_blackwell{90, 80, 70, 60, 50, 45, 40,
                                                     30, 24, 20, 19, 18, 12, 6};
constexpr double network_share = 0.96;  // of an adapter's nominal rate
constexpr int most_channels_between = 8;

std::span<const double> speeds_of(int capability) {
  if (capability >= 100) return speeds_of_blackwell;
  if (capability >= 90) return speeds_of_hopper;
  return speeds;
}

/// "dgx-h100" of "cluster:8xdgx-h100,400Gbps,5us".
std::string node_name(const std::string& machine) {
  std::string name = machine;
  if (name.starts_with("cluster:")) name = name.substr(name.find('x') + 1);
  return name.substr(0, std::min(name.find(','), name.find(':')));
}

Gpus guessed_gpus(const std::string& node) {
  const auto chip = std::find_if(chips.begin(), chips.end(), [&](const Chip& each) {
    return node.find(each.part) != std::string::npos;
  });
  Gpus gpus;
  gpus.generation =
      find_row("generation", chip == chips.end() ? "unknown" : chip->generation, gpu_generations());
  return gpus;
}

/// Links out of the first node, GB/s.
struct Rates {
  double inside_nominal = 0;   // of its first host to others in it
  double inside = 0;           // that transfers reach
  double outside_nominal = 0;  // of all of its adapters
  double outside = 0;
  double adapters = 0;
  bool direct = false;    // no bridge of a processor is between its hosts
  bool switched = false;  // but a switch
  Seconds way{0};         // from a node to the next
};

/// Hosts of one node, or of one domain of NVLink.
int seats_of(const Topology& topology, int otherwise) {
  const Layout& layout = topology.layout();
  if (layout.kind != Layout::Kind::hierarchy || layout.dims.size() < 2) return otherwise;
  return topology.hosts() / layout.dims.back();
}

double reached(const Topology& topology, LinkId link, double otherwise) {
  const double said = topology.link_class(link).efficiency;
  return topology.capacity(link) / 1e9 * (said < 1 ? 1 : otherwise);
}

/// Rings run over the wires that exist: what counts is what leaves a host, whatever the order.
void add_inside(const Topology& topology, const Gpus& gpus, int per_node, Rates& rates) {
  std::set<LinkId> links;
  std::vector<LinkId> route;
  for (Host peer = 1; peer < per_node; ++peer) {
    topology.route(0, peer, route);
    if (!route.empty()) links.insert(route.front());
  }
  for (const LinkId link : links) {
    const LinkClass& kind = topology.link_class(link);
    rates.inside_nominal += topology.capacity(link) / kind.efficiency / 1e9;
    rates.inside += reached(topology, link, gpus.generation.efficiency);
    rates.direct = rates.direct || kind.name.starts_with("nvl") || kind.name.starts_with("xgmi");
    rates.switched = topology.links()[static_cast<std::size_t>(link)].to >= topology.hosts();
  }
}

/// The k-th links of the routes from all hosts of a node to those of the next are a cut each: those
/// to adapters that hosts share, the adapters, the spine. The narrowest limits.
void add_outside(const Topology& topology, const Gpus& gpus, int per_node, Rates& rates) {
  std::vector<std::set<LinkId>> cuts;
  std::vector<LinkId> route;
  // Ranks may be said to sit on more nodes than the machine has.
  const int seats = seats_of(topology, per_node);
  const int next = per_node + seats <= topology.hosts() ? seats : per_node;
  for (Host host = 0; host < per_node; ++host) {
    topology.route(host, host + next, route);
    rates.way = std::max(rates.way, summarize(topology, route).latency);
    for (std::size_t i = 0; i < route.size(); ++i) {
      if (cuts.size() <= i) cuts.emplace_back();
      cuts[i].insert(route[i]);
    }
  }
  rates.outside_nominal = std::numeric_limits<double>::infinity();
  for (const std::set<LinkId>& cut : cuts) {
    Rates across;
    for (const LinkId link : cut) {
      const double share = topology.link_class(link).efficiency;
      across.outside_nominal += topology.capacity(link) / share / 1e9;
      across.outside += reached(topology, link, gpus.network.efficiency);
      across.adapters += topology.links()[static_cast<std::size_t>(link)].lanes;
    }
    if (across.outside_nominal >= rates.outside_nominal) continue;
    rates.outside_nominal = across.outside_nominal;
    rates.outside = across.outside;
    rates.adapters = across.adapters;
  }
}

double largest_speed(double most, int capability) {
  for (const double speed : speeds_of(capability)) {
    if (speed <= most) return speed;
  }
  return most;
}

/// What the second pass of the search makes of it where no network limits: it stops at twice the
/// speed.
double raised_speed(double speed, int capability) {
  double raised = std::max(speed, speeds_of(capability).front());
  for (const double each : speeds_of(capability)) {
    if (each >= 2 * speed) raised = each;
  }
  return raised;
}

/// As many channels as the links of a GPU carry, twice as many of half the speed where they are
/// fast, for a kernel's block cannot fill more.
NcclGraph graph_inside(double total, int capability) {
  NcclGraph graph;
  graph.intra = largest_speed(total, capability);
  // Of no rate there is no share.
  graph.channels = graph.intra > 0 ? std::max(1, static_cast<int>(total / graph.intra)) : 1;
  const bool enough = capability > 80 && graph.intra < 50 && graph.channels > 4;
  if (graph.intra >= 25 && !enough) {
    graph.channels *= 2;
    graph.intra /= 2;
  }
  graph.inter = graph.intra;
  return graph;
}

/// Channels share the adapters; `inside` limits them where a GPU's links are slower.
NcclGraph graph_between(const Rates& rates, double inside) {
  NcclGraph graph;
  graph.channels = std::clamp(static_cast<int>(rates.adapters), 1, most_channels_between);
  const double all = rates.outside_nominal * network_share;
  graph.inter = (inside > 0 ? std::min(all, inside) : all) / graph.channels;
  graph.intra = graph.inter;
  return graph;
}

/// The second pass of the search lets trees use up to twice the network's speed inside a node, so
/// that two nodes, between which both directions carry half a tree each, fill their adapters.
NcclGraph tree_between(const NcclGraph& ring, double inside) {
  NcclGraph tree = ring;
  tree.intra = 2 * ring.inter;
  if (inside > 0) tree.intra = std::max(ring.inter, std::min(tree.intra, inside / ring.channels));
  return tree;
}

NcclGraph nvls_graph(const NcclInputs& inputs, double inside) {
  const int per_node = inputs.ranks / inputs.nodes;
  constexpr int most_of_one_domain = 24;
  NcclGraph graph = inputs.ring;
  graph.channels = std::min(per_node, most_of_one_domain);
  graph.pattern = 5;
  if (inputs.nodes == 1) {
    // A channel pulls from one GPU, whose links carry it twice.
    graph.intra = largest_speed(inside / (graph.channels + 1), inputs.compute_capability);
    graph.inter = raised_speed(graph.intra, inputs.compute_capability);
  } else {
    graph.intra = graph.inter = inputs.ring.inter * inputs.ring.channels / graph.channels;
  }
  return graph;
}

NcclCpu cpu_of(const std::string& name) {
  return name == "amd"     ? NcclCpu::amd
         : name == "arm"   ? NcclCpu::arm
         : name == "power" ? NcclCpu::power
                           : NcclCpu::intel;
}

void set_graphs(const Rates& rates, const Gpus& gpus, NcclInputs& inputs) {
  const GpuGeneration& gpu = gpus.generation;
  const double inside = rates.inside_nominal * (rates.direct ? gpu.search_share : 1);
  inputs.ring = inputs.nodes == 1 ? graph_inside(inside, gpu.compute_capability)
                                  : graph_between(rates, rates.inside_nominal);
  const bool alone = inputs.ranks == inputs.nodes;
  const bool far = inputs.nodes > 1 && !(gpu.ll128_far && gpus.network.reaches_gpu);
  inputs.ring.type_intra = rates.direct || alone ? NcclPath::nvl : NcclPath::phb;
  inputs.ring.type_inter = far ? NcclPath::phb : NcclPath::pix;
  inputs.tree = inputs.nodes == 1 ? inputs.ring : tree_between(inputs.ring, rates.inside_nominal);
  inputs.tree.pattern = 1;
}

void set_switches(const Costs& costs, double inside, NcclInputs& inputs) {
  const std::optional<InNetwork>& adds = costs.in_network;
  const int per_node = inputs.ranks / inputs.nodes;
  if (adds && adds->name == "nvls" && per_node > 1 && inputs.compute_capability >= 90 &&
      (adds->max_ranks == 0 || per_node <= adds->max_ranks)) {
    inputs.nvls = nvls_graph(inputs, inside);
    inputs.hardware.nvls = adds->rate_of(per_node).bytes_per_second / 1e9;
  }
  inputs.collnet =
      inputs.nodes > 1 && ((costs.gpus && costs.gpus->sharp) || (adds && adds->name == "sharp"));
  if (!inputs.collnet) return;
  inputs.collnet_chain = inputs.ring;
  inputs.collnet_direct = inputs.ring;
  inputs.collnet_chain.pattern = inputs.collnet_direct.pattern = 6;
}

/// Of every graph between nodes, as NCCL's search takes it from the adapters.
void set_stated_latency(NcclInputs& inputs) {
  if (inputs.nodes == 1) return;
  for (NcclGraph* graph :
       {&inputs.ring, &inputs.tree, &inputs.nvls, &inputs.collnet_chain, &inputs.collnet_direct}) {
    graph->latency_inter = std::max(graph->latency_inter, stated_latency_us(inputs));
  }
}

/// NVLink joins the hosts of a domain: NCCL takes them for one node.
int nodes_that_count(const Topology& topology, const Gpus& gpus, int ranks, int nodes) {
  if (gpus.per_host == 0) return nodes;
  const int seats = seats_of(topology, topology.hosts());
  const int domains = (ranks + seats - 1) / seats;
  require(
      ranks % domains == 0,
      fmt::format("{} ranks cannot be spread evenly over {} domains of {}", ranks, domains, seats));
  return domains;
}

/// Whether the hosts are on a network, a GPU each, and not in a node or those of a cluster: nothing
/// says what GPUs they are, and no link is like those inside nodes.
bool are_on_network(const Machine& machine, const Gpus& guessed) {
  if (machine.costs.gpus) return false;
  const auto classes = machine.topology.classes();
  const bool all_far =
      std::ranges::all_of(classes, [](const LinkClass& each) { return each.level > 0; });
  const bool is_inside = std::ranges::any_of(classes, [](const LinkClass& each) {
    return std::ranges::any_of(std::array{"nvl", "nvswitch", "xgmi", "infinity", "pci"},
                               [&](const char* name) { return each.name.starts_with(name); });
  });
  const bool is_cluster = machine.topology.layout().kind == Layout::Kind::hierarchy;
  return all_far || (!is_cluster && !is_inside && guessed.generation.name == "unknown");
}

void require_gpus(const Topology& topology) {
  const bool is_slice = std::ranges::any_of(
      topology.classes(), [](const LinkClass& each) { return each.name.starts_with("ici"); });
  require(!is_slice, topology.name() + ": NCCL does not run on TPUs, whose chips have no GPUs");
}

/// Of ranks that are not spread evenly some nodes have more, and others other graphs.
void require_equal_nodes(const Topology& topology, int ranks, int nodes) {
  const int seats = seats_of_node(topology.layout());
  if (seats == 0 || ranks / nodes <= seats) return;
  const int needed = (ranks + seats - 1) / seats;
  throw InvalidArgument(fmt::format(
      "{} of {} have room for {} each, and what NCCL plays is modelled where all have as many: {} "
      "need {} and are not spread evenly; take a multiple of {}",
      nodes == 1 ? "nodes" : counted(nodes, "node"), topology.name(), seats, counted(ranks, "rank"),
      counted(needed, "node"), needed));
}

/// The library's hops are those of networks that were measured; links that take longer are waited
/// for.
void wait_for_links(Seconds way, NcclInputs& inputs) {
  AdapterNetwork& network = inputs.hardware.network;
  const Seconds least = way / LibraryConstants().hop_ll128_of_ll;
  if (least <= network.hop_ll) return;
  inputs.ring.latency_inter = inputs.tree.latency_inter = (least - network.hop_ll).count() * 1e6;
  network.hop_ll = least;
  network.hop_simple = std::max(network.hop_simple, least);
}

}  // namespace

NcclInputs nccl_inputs(const Machine& machine, int ranks, int nodes) {
  require(nodes >= 1 && ranks % nodes == 0,
          fmt::format("{} ranks cannot be spread evenly over {} nodes", ranks, nodes));
  const std::string& name = machine.topology.name();
  const std::optional<Gpus>& said = machine.costs.gpus;
  require_gpus(machine.topology);
  Gpus gpus = said ? *said : guessed_gpus(node_name(name));
  const bool on_network = are_on_network(machine, gpus);
  NcclInputs inputs;
  inputs.ranks = ranks;
  inputs.nodes = said         ? nodes_that_count(machine.topology, *said, ranks, nodes)
                 : on_network ? ranks
                              : nodes;
  if (!on_network && gpus.per_host == 0) require_equal_nodes(machine.topology, ranks, nodes);
  Rates rates;
  add_inside(machine.topology, gpus, ranks / inputs.nodes, rates);
  if (inputs.nodes > 1) add_outside(machine.topology, gpus, ranks / inputs.nodes, rates);
  if (on_network) {
    gpus.network = network_by_latency(rates.way);
    // What links reach is said, and nothing shows that the library finds more.
    rates.outside_nominal = std::min(rates.outside_nominal, rates.outside / network_share);
  }
  inputs.compute_capability = gpus.generation.compute_capability;
  inputs.cpu = cpu_of(gpus.cpu);
  inputs.ll128 = gpus.generation.ll128;
  inputs.hardware.gpu = gpus.generation;
  inputs.hardware.network = gpus.network;
  inputs.hardware.of_gpu = rates.inside;
  inputs.hardware.of_node = rates.outside;
  inputs.hardware.adapters = static_cast<int>(rates.adapters);
  inputs.nvswitch = rates.direct && rates.switched;
  set_graphs(rates, gpus, inputs);
  wait_for_links(rates.way, inputs);
  set_switches(machine.costs, rates.inside_nominal * gpus.generation.search_share, inputs);
  set_stated_latency(inputs);
  inputs.guessed = !said.has_value();
  inputs.origin = said ? fmt::format("graphs of {} on {}, as its search finds them", name,
                                     counted(inputs.nodes, "node"))
                       : fmt::format("guessed from the links of {}{}", name,
                                     on_network ? ", whose hosts are nodes of a GPU each" : "");
  return inputs;
}

}  // namespace collbench

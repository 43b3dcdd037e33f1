#include "heuristics/calibration/fit.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/synthesised.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "heuristics/synthesis/synthesise.h"
#include "topologies/wire_rings.h"

namespace collbench {
namespace {

struct Axes {
  std::vector<int> dims;
  std::vector<bool> wraps;
};

/// The axes that `ranks` consecutive hosts fill, without those of length 1; empty if they end
/// inside one. An axis that is filled in part does not close to a ring.
Axes filled_axes(const Layout& layout, int ranks) {
  Axes axes;
  int left = ranks;
  for (std::size_t i = 0; i < layout.dims.size() && left > 1; ++i) {
    const int length = layout.dims[i];
    const int taken = left < length ? left : length;
    if (left % taken != 0) return {};
    left /= taken;
    if (taken == 1) continue;
    axes.dims.push_back(taken);
    axes.wraps.push_back(layout.kind == Layout::Kind::grid && layout.wraps[i] && taken == length);
  }
  return left == 1 ? axes : Axes{};
}

bool are_powers_of_two(const std::vector<int>& dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [](int d) { return std::has_single_bit(static_cast<unsigned>(d)); });
}

/// As many tracks as there are axes or, for swing, directions of axes.
void fit_butterfly(const Axes& axes, AlgorithmSpec& spec) {
  const bool closes = std::all_of(axes.wraps.begin(), axes.wraps.end(), [](bool w) { return w; });
  const bool is_swing = spec.name == "swing";
  if (!are_powers_of_two(axes.dims) || (is_swing && !closes)) return;
  spec.options["dims"] = fmt::format("{}", fmt::join(axes.dims, "x"));
  const std::size_t tracks = axes.dims.size() * (is_swing ? 2 : 1);
  spec.options.try_emplace("streams", std::to_string(tracks));
}

void fit_torus(const Axes& axes, int cores, AlgorithmSpec& spec) {
  const bool concentrate = cores > 1 && axes.dims.size() > 1 && axes.dims.front() == cores;
  if (concentrate) spec.options.try_emplace("concentrate", "");
  std::string wrap;
  for (const bool wraps : axes.wraps) wrap += wraps ? 't' : 'm';
  spec.options["wrap"] = wrap;
  // Where only some axes close, the open ones carry twice the bytes per link; balanced shares gain
  // up to a third there, and nothing where all close or none.
  const auto first = axes.wraps.begin() + (concentrate ? 1 : 0);
  const auto closed = std::count(first, axes.wraps.end(), true);
  if (closed > 0 && closed < axes.wraps.end() - first) {
    spec.options.try_emplace("shares", "balanced");
  }
}

// Channels leave nodes, whose ranks are the innermost level; a machine whose links are inside a
// node is one.
AlgorithmSpec with_nodes(const AlgorithmSpec& spec, const Topology& topology, int ranks) {
  AlgorithmSpec fitted = spec;
  const Layout& layout = topology.layout();
  const int node = std::min(layout.dims.front(), ranks);
  const auto classes = topology.classes();
  const bool one_node =
      layout.kind == Layout::Kind::flat &&
      std::any_of(classes.begin(), classes.end(), [](const LinkClass& c) { return c.level == 0; });
  if ((layout.kind == Layout::Kind::hierarchy && ranks % node == 0) || one_node) {
    fitted.options.try_emplace("node", std::to_string(node));
  }
  return fitted;
}

AlgorithmSpec with_wires(const AlgorithmSpec& spec, const Topology& topology, int ranks) {
  std::vector<std::string> orders;
  for (const std::vector<Host>& ring : wire_rings(topology, ranks)) {
    orders.push_back(fmt::format("{}", fmt::join(ring, "-")));
  }
  require(!orders.empty(),
          fmt::format("{}: orders=wires needs 3 to 16 hosts that cables join, one ring through all "
                      "at least; {} has none for {} ranks",
                      spec.name, topology.name(), ranks));
  AlgorithmSpec fitted = spec;
  fitted.options["orders"] = fmt::format("{}", fmt::join(orders, "+"));
  return fitted;
}

}  // namespace

AlgorithmSpec fit_to(const AlgorithmSpec& spec, const Topology& topology, int ranks) {
  const bool is_butterfly =
      spec.name == "swing" || spec.name == "recursive-doubling" || spec.name == "halving-doubling";
  const Layout& layout = topology.layout();
  const auto orders = spec.options.find("orders");
  if (spec.name == "ring" && orders != spec.options.end() && orders->second == "wires") {
    return with_wires(spec, topology, ranks);
  }
  if (spec.name == synthesised_row().name && spec.options.count("topo") == 0) {
    remember_network(topology);
    AlgorithmSpec on_network = spec;
    on_network.options["topo"] = topology.name();
    return on_network;
  }
  if (spec.options.count("channels") > 0) return with_nodes(spec, topology, ranks);
  if (layout.kind == Layout::Kind::flat || spec.options.count("dims") > 0) return spec;
  if (is_butterfly && layout.kind != Layout::Kind::grid) return spec;
  if (!is_butterfly && spec.name != "torus" && spec.name != "torus-2d" &&
      spec.name != "hierarchical") {
    return spec;
  }
  const Axes axes = filled_axes(layout, ranks);
  if (axes.dims.empty() || (spec.name == "torus-2d" && axes.dims.size() != 2)) return spec;
  AlgorithmSpec fitted = spec;
  if (is_butterfly) {
    fit_butterfly(axes, fitted);
    return fitted;
  }
  fitted.options["dims"] = fmt::format("{}", fmt::join(axes.dims, "x"));
  if (spec.name == "torus" && spec.options.count("wrap") == 0) {
    fit_torus(axes, layout.cores, fitted);
  }
  return fitted;
}

AlgorithmSpec fit_to_nodes(const AlgorithmSpec& spec, const Topology& topology, int ranks,
                           int nodes) {
  AlgorithmSpec fitted = spec;
  const int each = ranks_on_node(topology.layout(), ranks, nodes);
  const bool spare = each > 1 && have_spare_seats(topology.layout(), ranks, nodes);
  if (spare && spec.options.count("channels") > 0) {
    fitted.options.try_emplace("node", std::to_string(each));
  } else if (spare && (spec.name == "hierarchical" || spec.name.starts_with("torus"))) {
    fitted.options.try_emplace("dims", fmt::format("{}x{}", each, ranks / each));
  }
  return fit_to(fitted, topology, ranks);
}

int nodes_of(const Layout& layout, int ranks) {
  const int seats = seats_of_node(layout);
  if (seats == 0) return 1;
  const int nodes = (ranks + seats - 1) / seats;
  return ranks % nodes == 0 ? nodes : 1;
}

bool seats_evenly(const Layout& layout, int ranks, int nodes) {
  const int seats = seats_of_node(layout);
  return seats > 0 && nodes <= layout.dims.back() && ranks % nodes == 0 && ranks / nodes <= seats;
}

int ranks_on_node(const Layout& layout, int ranks, int nodes) {
  for (const int asked : {nodes, nodes_of(layout, ranks)}) {
    if (seats_evenly(layout, ranks, asked)) return ranks / asked;
  }
  return 0;
}

bool have_spare_seats(const Layout& layout, int ranks, int nodes) {
  const int each = ranks_on_node(layout, ranks, nodes);
  return each > 0 && each < ranks && each < seats_of_node(layout);
}

std::vector<Host> seats_of_ranks(const Topology& topology, int ranks, int nodes) {
  const Layout& layout = topology.layout();
  if (!seats_evenly(layout, ranks, nodes)) return place("row-major", ranks, topology);
  const int each = ranks / nodes;
  std::vector<Host> hosts;
  for (Rank r = 0; r < ranks; ++r) hosts.push_back(r / each * seats_of_node(layout) + r % each);
  return hosts;
}

std::string why_not_seated(const Machine& machine, int ranks, int nodes) {
  const Layout& layout = machine.topology.layout();
  const std::string& name = machine.topology.name();
  const std::optional<Gpus>& gpus = machine.costs.gpus;
  const int seats = seats_of_node(layout);
  if (nodes < 1 || ranks % nodes != 0 || (gpus && gpus->per_host > 0)) return "";
  if (seats > 0) {
    if (seats_evenly(layout, ranks, nodes)) return "";
    return fmt::format("{} on {} are {} on each; the machine has {} of {}",
                       counted(ranks, "worker"), counted(nodes, "node"), ranks / nodes,
                       counted(layout.dims.back(), "node"), seats);
  }
  if (nodes == 1 || (!gpus && nodes == ranks)) return "";
  return gpus
             ? fmt::format("{} is one node; {} of them are cluster:{}x{}", name, nodes, nodes, name)
             : fmt::format(
                   "{} is no cluster: {} are {} there, one on each host; leave it out, or "
                   "name a cluster (cluster:{}xNODE)",
                   name, counted(ranks, "worker"), counted(ranks, "node"), nodes);
}

std::vector<Host> hosts_of_ranks(const std::string& order, int ranks, const Topology& topology) {
  return order == "row-major" ? seats_of_ranks(topology, ranks, nodes_of(topology.layout(), ranks))
                              : place(order, ranks, topology);
}

std::string words_on_seats(const Topology& topology, int ranks, int nodes) {
  const int seats = seats_of_node(topology.layout());
  if (seats == 0 || ranks <= seats || ranks % seats == 0) return "";
  const int each = ranks_on_node(topology.layout(), ranks, nodes);
  if (each > 0) {
    return fmt::format("{} are seated as {} on each of {}, which have room for {}",
                       counted(ranks, "worker"), each, counted(ranks / each, "node"), seats);
  }
  return fmt::format("{} fill nodes of {} one after the other, with {} on the last",
                     counted(ranks, "worker"), seats, ranks % seats);
}

}  // namespace collbench

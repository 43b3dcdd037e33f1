// `collbench topo`: the machines that are known, what they can do, their pictures, and their
// translation from and to the formats of other tools.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/measure/gpu_machine.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/external_program.h"
#include "cli/output_file.h"
#include "core/error.h"
#include "heuristics/calibration/fitted_machine.h"
#include "topologies/bounds.h"
#include "topologies/draw/draw.h"
#include "topologies/import/import_topology.h"
#include "topologies/local_machine.h"
#include "topologies/machine_file.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

/// A file in any format that is known, otherwise a specification as --topo takes.
const std::string& name_of(const Settings& settings) {
  return settings.text(settings.declares("NAME") ? "NAME" : "FILE");
}

/// Whether it is a file of another tool's.
bool is_imported(const Settings& settings) {
  const std::string& name = name_of(settings);
  std::error_code ignored;
  return std::filesystem::is_regular_file(name, ignored) &&
         (!name.ends_with(".toml") ||
          topology_format(settings.text("from")) != TopologyFormat::automatic);
}

/// Ranks to seat, where the name leaves the size out; else 0.
int seats_asked(const Settings& settings) {
  const bool is_said = settings.declares("workers") && settings.given("workers");
  return is_said ? settings.count("workers", 0, 1 << 20) : 0;
}

Machine load(const Settings& settings) {
  const int workers = seats_asked(settings);
  const std::string& name = name_of(settings);
  const TopologyFormat format = topology_format(settings.text("from"));
  if (is_imported(settings)) return import_topology_file(name, format);
  require(format == TopologyFormat::automatic, fmt::format("cannot read '{}'", name));
  return machine(name, workers);
}

int list_machines(const Settings& /*settings*/) {
  std::size_t width = 0;
  for (const ShippedMachine& m : shipped_machines()) width = std::max(width, m.name.size());
  for (const ShippedMachine& m : shipped_machines()) {
    std::cout << fmt::format("{:<{}}  {}\n", m.name, width, m.summary);
  }
  std::cout << "# and compositions: star:8,100Gbps,5us  full:8,64GBps,1us  torus:4x4x4,50GBps,1us\n"
               "# mesh:4x4,50GBps,1us  fat-tree:4x4:1x4:1x2,100Gbps,1us\n"
               "# dragonfly:3x4x5x2:1x1x1,200Gbps,1us  cluster:8xdgx-h100\n";
  return exit_ok;
}

std::string layout_text(const Layout& layout) {
  std::string text;
  for (std::size_t i = 0; i < layout.dims.size(); ++i) {
    const bool has_ends = i < layout.wraps.size();
    text += fmt::format("{}{}{}", i == 0 ? "" : " x ", layout.dims[i],
                        !has_ends         ? ""
                        : layout.wraps[i] ? " closed"
                                          : " open");
  }
  switch (layout.kind) {
    case Layout::Kind::flat:
      return "flat";
    case Layout::Kind::grid:
      return "grid " + text;
    case Layout::Kind::hierarchy:
      return "hierarchy " + text + ", innermost first";
  }
  return text;
}

void print_classes(const Topology& topology) {
  std::vector<double> lanes(topology.classes().size(), 0);
  for (const Link& link : topology.links()) {
    lanes[static_cast<std::size_t>(link.link_class)] += static_cast<double>(link.lanes);
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const LinkClass& c = topology.classes()[i];
    std::cout << fmt::format(
        "link       {}: {} nominal, {:.4g} % reached = {}, {}, level {}; {:.9g} "
        "lanes\n",
        c.name, to_string(c.nominal), 100 * c.efficiency,
        to_string(Bandwidth{c.nominal.bytes_per_second * c.efficiency}), to_string(c.latency),
        c.level, lanes[i]);
    if (!c.source.empty()) std::cout << fmt::format("           source: {}\n", c.source);
  }
}

std::string listed(const std::vector<Seconds>& times) {
  std::string text;
  for (const Seconds time : times) text += " " + to_string(time);
  return text;
}

void print_protocol(const Protocol& protocol) {
  std::string text;
  if (!protocol.message_latency.empty())
    text += ", latency by level" + listed(protocol.message_latency);
  if (!protocol.message_gap.empty()) text += ", gap by level" + listed(protocol.message_gap);
  std::string caps;
  for (const Bandwidth cap : protocol.message_cap) {
    caps += cap > Bandwidth{} ? " " + to_string(cap) : " none";
  }
  if (!caps.empty()) text += ", cap by level" + caps;
  std::cout << fmt::format("protocol   {}: wire factor {:.4g}{}\n", protocol.name,
                           protocol.wire_factor, text);
}

std::string cost_text(double factor) { return fmt::format("{:.4g}", factor); }
template <class Quantity>
std::string cost_text(Quantity quantity) {
  return to_string(quantity);
}

void print_costs(const Costs& costs) {
  const auto print = [](const char* key, const std::string& value) {
    std::cout << fmt::format("cost       {} = {}\n", key, value);
  };
  for (const LatencyStep& step : costs.message_latency) {
    print("message_latency",
          fmt::format("{} from {}", to_string(step.latency), to_string(step.from_bytes)));
  }
  for (const CostKey& key : cost_keys) {
    const auto print_given = [&](auto member) {
      if (costs.*member != Costs{}.*member) print(key.name, cost_text(costs.*member));
    };
    std::visit(print_given, key.member);
  }
  if (!costs.message_gap.empty()) print("message_gap", "by level" + listed(costs.message_gap));
  for (const Protocol& protocol : costs.protocols) print_protocol(protocol);
  if (costs.gpus) {
    const Gpus& gpus = *costs.gpus;
    std::cout << fmt::format("gpus       {}, network {}, CPUs {}{}{}\n", gpus.generation.name,
                             gpus.network.name, gpus.cpu,
                             gpus.per_host > 0 ? fmt::format(", {} a host", gpus.per_host) : "",
                             gpus.sharp ? ", switches of the network add" : "");
  }
  if (!costs.in_network) return;
  const InNetwork& in = *costs.in_network;
  std::cout << fmt::format("in network {}: {}, {}{}\n", in.name, to_string(in.rate),
                           to_string(in.latency),
                           in.max_ranks > 0 ? fmt::format(", at most {} ranks", in.max_ranks) : "");
}

void print_bounds(const Topology& topology) {
  if (const auto width = bisection(topology)) {
    const std::string forth = to_string(width->forth);
    const std::string back = to_string(width->back);
    std::cout << (forth == back
                      ? fmt::format("bisection  {} each way\n", forth)
                      : fmt::format("bisection  {} from the first half of the hosts to the second, "
                                    "{} back\n",
                                    forth, back));
  } else if (topology.hosts() > 1) {
    std::cout << (links_join_routes(topology)
                      ? "bisection  not computed for so many links\n"
                      : "bisection  not computed: routes are stated, not what their links join\n");
  }
  if (const auto ring = ring_bound(topology)) {
    std::cout << fmt::format("ring bound {} per host in their order, {} per step\n",
                             to_string(ring->rate), to_string(ring->latency));
  }
}

int show_machine(const Settings& settings) {
  const Machine shown = load(settings);
  const Topology& topology = shown.topology;
  std::cout << fmt::format("{}: {}\n", topology.name(), shown.summary);
  std::cout << fmt::format("hosts      {}; switches {}, links {}\n", topology.hosts(),
                           topology.vertices() - topology.hosts(), topology.links().size());
  std::cout << fmt::format("layout     {}\n", layout_text(topology.layout()));
  print_classes(topology);
  print_costs(shown.costs);
  print_bounds(topology);
  if (!shown.source.empty()) std::cout << fmt::format("source     {}\n", shown.source);
  return exit_ok;
}

int validate_file(const Settings& settings) {
  const Machine valid = load(settings);
  const Topology& topology = valid.topology;
  std::cout << fmt::format("{}: valid; hosts {}, links {}, classes of links {}\n",
                           settings.text("FILE"), topology.hosts(), topology.links().size(),
                           topology.classes().size());
  return exit_ok;
}

/// What a description may hold besides one machine's network and costs.
std::vector<std::string> parts_beside_network(const Settings& settings) {
  std::vector<std::string> parts;
  if (is_imported(settings)) return parts;
  const std::string& name = name_of(settings);
  // A list of links, with a latency for all, is no description; load() has read it.
  const bool is_list = name.find(",latency=") != name.npos;
  if (!is_list && describe(name, {.workers = seats_asked(settings)}).fabric) {
    parts.emplace_back("how copies of it are joined ([fabric])");
  }
  if (calibration_of(name)) parts.emplace_back("its fit and the points of that");
  return parts;
}

int convert_file(const Settings& settings) {
  const std::string& to = settings.one_of("to", {"toml", "simgrid", "dot", "svg"});
  const Machine read = load(settings);
  const std::vector<std::string> costs = names_of_costs(read.costs);
  if (to == "simgrid" && !costs.empty()) {
    std::cerr << fmt::format(
        "collbench: warning: a SimGrid platform has no costs beyond those of links; left out: {}\n",
        fmt::join(costs, ", "));
  }
  const std::vector<std::string> parts = parts_beside_network(settings);
  if ((to == "toml" || to == "simgrid") && !parts.empty()) {
    std::cerr << fmt::format(
        "collbench: warning: only the network and its costs are translated; "
        "left out: {}\n",
        fmt::join(parts, ", "));
  }
  write_output(settings.text("output"), [&](std::ostream& out) {
    if (to == "toml") out << to_toml(read);
    if (to == "simgrid") out << to_simgrid_xml(read);
    if (to == "dot") out << to_dot(read.topology);
    if (to == "svg") out << svg_of(to_grouped_dot(read.topology));
  });
  return exit_ok;
}

int draw_machine(const Settings& settings) {
  require(settings.given("svg") || settings.given("dot"),
          "topo draw needs --svg FILE or --dot FILE ('-': stdout)");
  const Machine drawn = load(settings);
  write_output(settings.text("svg"),
               [&](std::ostream& out) { out << svg_of(to_grouped_dot(drawn.topology)); });
  write_output(settings.text("dot"), [&](std::ostream& out) { out << to_dot(drawn.topology); });
  return exit_ok;
}

int write_this_machine(const Settings& settings) {
  LocalMachine local = read_local_machine();
  local.gpus = local_gpus(survey_gpus());
  write_output(settings.text("output"),
               [&](std::ostream& out) { out << to_toml(from_local_machine(local)); });
  return exit_ok;
}

constexpr OptionRow file_format{
    options_group,
    "from",
    "",
    "NAME",
    "auto",
    "format of the file: toml, simgrid, nccl, nvidia-smi, astra, hwloc, edges"};
constexpr OptionRow output_file{options_group, "output", "o",
                                "FILE",        "-",      "where to write; - is standard output"};

constexpr OptionRow seats_row{
    options_group, "workers", "W", "N", "", "number of ranks, where NAME leaves out the size"};
constexpr OptionRow show_machine_rows[] = {
    {arguments_group, "NAME", "", "NAME", "",
     "as for --topo: dgx-h100, torus:4x4,50GBps,1us, or a file", Presence::required},
    file_format,
    seats_row,
};
constexpr OptionRow validate_file_rows[] = {
    {arguments_group, "FILE", "", "FILE", "", "a topology file in any format", Presence::required},
    file_format,
};
constexpr OptionRow convert_rows[] = {
    {arguments_group, "FILE", "", "FILE", "", "a topology file, or a machine as for show",
     Presence::required},
    file_format,
    seats_row,
    {options_group, "to", "", "NAME", "", "toml, simgrid, dot or svg", Presence::required},
    output_file,
};
constexpr OptionRow from_machine_rows[] = {output_file};
constexpr OptionRow draw_rows[] = {
    {arguments_group, "NAME", "", "NAME", "", "a machine as for show", Presence::required},
    file_format,
    seats_row,
    {options_group, "svg", "", "FILE", "", "write a picture"},
    {options_group, "dot", "", "FILE", "", "write Graphviz"},
};

}  // namespace

void add_topo(CLI::App& app, Action& action) {
  CLI::App& topo = add_command(app, "topo", "list, show, check, translate and draw networks", {},
                               action, list_machines);
  add_command(topo, "list", "the shipped machines and the compositions", {}, action, list_machines);
  add_command(topo, "show", "what a machine is made of and can do at best", show_machine_rows,
              action, show_machine);
  add_command(topo, "validate", "check a topology file", validate_file_rows, action, validate_file);
  add_command(topo, "convert", "translate a topology file", convert_rows, action, convert_file);
  add_command(topo, "from-machine", "write the file of this machine: CPUs, GPUs, NVLinks",
              from_machine_rows, action, write_this_machine);
  add_command(topo, "draw", "draw a picture of a machine", draw_rows, action, draw_machine);
}

}  // namespace collbench

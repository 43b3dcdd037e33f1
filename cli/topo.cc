// `collbench topo`: the machines that are known, what they can do, their pictures, and their
// translation from and to the formats of other tools.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "bench/measure/gpu_machine.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/external_program.h"
#include "cli/output_file.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/suggest.h"
#include "topologies/bounds.h"
#include "topologies/draw/draw.h"
#include "topologies/import/import_topology.h"
#include "topologies/local_machine.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

/// A file in any format that is known, otherwise a specification as --topo takes.
Machine load(const std::string& name, const std::string& from, int workers = 0) {
  const TopologyFormat format = topology_format(from);
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(name, ignored);
  if (is_file && !name.ends_with(".toml")) return import_topology_file(name, format);
  if (is_file && format != TopologyFormat::automatic) return import_topology_file(name, format);
  require(format == TopologyFormat::automatic, fmt::format("cannot read '{}'", name));
  return machine(name, workers);
}

int list_machines() {
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
    const bool wraps = i < layout.wraps.size() && layout.wraps[i];
    text += fmt::format("{}{}{}", i == 0 ? "" : " x ", layout.dims[i], wraps ? " closed" : "");
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

void print_protocol(const Protocol& protocol) {
  std::string text;
  for (const Seconds latency : protocol.message_latency) text += " " + to_string(latency);
  if (!text.empty()) text = ", latency by level" + text;
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
  for (const Protocol& protocol : costs.protocols) print_protocol(protocol);
  if (!costs.in_network) return;
  const InNetwork& in = *costs.in_network;
  std::cout << fmt::format("in network {}: {}, {}{}\n", in.name, to_string(in.rate),
                           to_string(in.latency),
                           in.max_ranks > 0 ? fmt::format(", at most {} ranks", in.max_ranks) : "");
}

void print_bounds(const Topology& topology) {
  if (const auto width = bisection(topology)) {
    std::cout << fmt::format("bisection  {} each way\n", to_string(*width));
  } else if (topology.hosts() > 1) {
    std::cout << "bisection  not computed for so many links\n";
  }
  if (const auto ring = ring_bound(topology)) {
    std::cout << fmt::format("ring bound {} per host in their order, {} per step\n",
                             to_string(ring->rate), to_string(ring->latency));
  }
}

int show_machine(const std::string& name, const std::string& from, const std::string& workers) {
  const auto seats = static_cast<int>(parse_count("--workers", workers, 0, 1 << 20));
  const Machine shown = load(name, from, seats);
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

int validate_file(const std::string& path, const std::string& from) {
  const Machine valid = load(path, from);
  const Topology& topology = valid.topology;
  std::cout << fmt::format("{}: valid; hosts {}, links {}, classes of links {}\n", path,
                           topology.hosts(), topology.links().size(), topology.classes().size());
  return exit_ok;
}

std::string to_svg(const Topology& topology) {
  return run_external({"dot -Tsvg", "graphviz", "--dot FILE writes what it would read"},
                      to_grouped_dot(topology));
}

// The text is made before the file is, so that a refusal leaves none behind.
void write(const std::string& path, const std::string& text) {
  write_output(
      path, [&](std::ostream& out) { out << text; }, std::ios::binary);
}

int convert_file(const std::string& name, const std::string& from, const std::string& to,
                 const std::string& out) {
  const std::vector<std::string> known = {"toml", "simgrid", "dot", "svg"};
  require(std::find(known.begin(), known.end(), to) != known.end(),
          fmt::format("--to: unknown format '{}'.{} Known are {}", to, did_you_mean(to, known),
                      fmt::join(known, ", ")));
  const Machine read = load(name, from);
  if (to == "toml") write(out, to_toml(read));
  if (to == "simgrid") write(out, to_simgrid_xml(read.topology));
  if (to == "dot") write(out, to_dot(read.topology));
  if (to == "svg") write(out, to_svg(read.topology));
  return exit_ok;
}

int draw_machine(const std::string& name, const std::string& from, const std::string& svg,
                 const std::string& dot) {
  require(!svg.empty() || !dot.empty(), "topo draw needs --svg FILE or --dot FILE ('-': stdout)");
  const Machine drawn = load(name, from);
  if (!svg.empty()) write(svg, to_svg(drawn.topology));
  if (!dot.empty()) write(dot, to_dot(drawn.topology));
  return exit_ok;
}

int write_this_machine(const std::string& out) {
  LocalMachine local = read_local_machine();
  local.gpus = local_gpus(survey_gpus());
  write(out, to_toml(from_local_machine(local)));
  return exit_ok;
}

struct TopoValues {
  std::string name;
  std::string from = "auto";
  std::string to;
  std::string out = "-";
  std::string svg;
  std::string dot;
  std::string workers = "0";
};

void add_name(CLI::App& command, TopoValues& values, const char* word, const char* help) {
  add_argument(command, values.name, word, help, Presence::required);
  add_option(command, values.from, "--from", "NAME",
             "format of the file: toml, simgrid, nccl, nvidia-smi, astra, hwloc [auto]");
}

void add_files(CLI::App& topo, Action& action, const std::shared_ptr<TopoValues>& values) {
  CLI::App& convert = add_command(topo, "convert", "translate a topology file", action, [values] {
    return convert_file(values->name, values->from, values->to, values->out);
  });
  add_name(convert, *values, "FILE", "a topology file, or a machine as for show");
  add_option(convert, values->to, "--to", "NAME", "toml, simgrid, dot or svg", "Options",
             Presence::required);
  add_option(convert, values->out, "-o,--output", "FILE", "where to write [standard output]");

  CLI::App& here =
      add_command(topo, "from-machine", "write the file of this machine: CPUs, GPUs, NVLinks",
                  action, [values] { return write_this_machine(values->out); });
  add_option(here, values->out, "-o,--output", "FILE", "where to write [standard output]");

  CLI::App& draw = add_command(topo, "draw", "draw a picture of a machine", action, [values] {
    return draw_machine(values->name, values->from, values->svg, values->dot);
  });
  add_name(draw, *values, "NAME", "a machine as for show");
  add_option(draw, values->svg, "--svg", "FILE", "write a picture");
  add_option(draw, values->dot, "--dot", "FILE", "write Graphviz");
}

}  // namespace

void add_topo(CLI::App& app, Action& action) {
  const auto values = std::make_shared<TopoValues>();
  CLI::App& topo = add_command(app, "topo", "list, show, check, translate and draw networks",
                               action, list_machines);
  add_command(topo, "list", "the shipped machines and the compositions", action, list_machines);

  CLI::App& show =
      add_command(topo, "show", "what a machine is made of and can do at best", action,
                  [values] { return show_machine(values->name, values->from, values->workers); });
  add_name(show, *values, "NAME", "as for --topo: dgx-h100, torus:4x4,50GBps,1us, or a file");
  add_option(show, values->workers, "-W,--workers", "N",
             "number of ranks, where NAME leaves out the size");

  CLI::App& validate = add_command(topo, "validate", "check a topology file", action,
                                   [values] { return validate_file(values->name, values->from); });
  add_name(validate, *values, "FILE", "a topology file in any format");
  add_files(topo, action, values);
}

}  // namespace collbench
